/** One number of a text with every value it may have: `5%` is 5 and 0.05, `5mm` is 5 and, in money, five million. */
export interface Quantity {
  readonly values: ReadonlySet<number>;
  /** A lone "one", which is a pronoun more often than a number. */
  readonly weak: boolean;
}

const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  dozen: 12,
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mm: 1e6,
  mil: 1e6,
  million: 1e6,
  b: 1e9,
  bn: 1e9,
  billion: 1e9,
  trillion: 1e12,
};

/** Letters that are also units of other things. */
const AMBIGUOUS: ReadonlySet<string> = new Set(["m", "mm", "b"]);

const PHONE = /(?<![\d-])(?:\+?1[-. ])?\(?(\d{3})\)?[-. ]{1,2}(\d{3})[-. ](\d{4})(?!\d)/g;

const FIGURES =
  /(?<!\w)(?<!\d\.)([-−](?=[$€£]?[\d.]))?[$€£]?\s?(?=\.?\d)(\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(\.\d+)?(?:[\s-]?(hundred|dozen|thousand|million|mil|billion|bn|trillion)s?\b|(mm|k|m|b)\b)?(\s?%|\s?(?:percent|per cent|pct)\b)?/g;

const SMALL = [
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  ),
  "twenty thirty forty fifty sixty seventy eighty ninety".split(" "),
] as const;
const WORD_VALUES = new Map([
  ...SMALL[0].map((word, i) => [word, i] as const),
  ...SMALL[1].map((word, i) => [word, (i + 2) * 10] as const),
]);
const WORD = [...WORD_VALUES.keys(), "hundred", "thousand", "million", "billion"].join("|");
const SPELLED = new RegExp(
  `(?<![\\w-])(?:an? )?(?:${WORD}|dozen)(?:(?:[\\s-]|,? and )(?:${WORD}|dozen))*(?![\\w])(\\s?%|\\s(?:percent|per cent|pct)\\b)?`,
  "g",
);

/** The numbers of a text, in figures or spelled out. Digits inside words (Q3, EB3801) are none. */
export function quantitiesIn(text: string): Quantity[] {
  const found: Quantity[] = [];
  const add = (values: readonly number[], weak = false) => {
    found.push({ values: new Set(values.map(rounded)), weak });
    return " ";
  };
  text
    .toLowerCase()
    .replace(PHONE, (_, area: string, exchange: string, line: string) => add([Number(area + exchange + line)]))
    .replace(FIGURES, (_, minus, digits, decimals, scale, letter, percent) => {
      const plain = Number(`${minus === undefined ? "" : "-"}${(digits ?? "0").replaceAll(",", "")}${decimals ?? ""}`);
      const scaled = plain * (SCALES[scale ?? letter ?? ""] ?? 1);
      const values = AMBIGUOUS.has(letter ?? "") ? [scaled, plain] : [scaled];
      return add(percent === undefined ? values : [...values, scaled / 100]);
    })
    .replace(SPELLED, (whole: string, percent) => {
      const value = spelledValue(whole);
      if (value === null) return whole;
      return add(percent === undefined ? [value] : [value, value / 100], whole.trim() === "one");
    });
  return found;
}

/** Free of what binary fractions add. */
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

/** `one hundred and twenty-five thousand`; null for words that make no number. */
function spelledValue(text: string): number | null {
  let total = 0;
  let part = 0;
  for (const word of text.match(/[a-z]+/g) ?? []) {
    const small = WORD_VALUES.get(word);
    const scale = SCALES[word];
    if (small !== undefined) part += small;
    else if (scale === 100 || scale === 12) part = (part || 1) * scale;
    else if (scale !== undefined && word.length > 3) {
      total += (part || 1) * scale;
      part = 0;
    }
  }
  return Number.isFinite(total + part) ? total + part : null;
}
