/** One number of a text with all its possible values: `5%` is 5 and 0.05, `5mm` is 5 and, in money, five million. */
export interface ParsedNumber {
  readonly values: ReadonlySet<number>;
  /** A lone "one": more often a pronoun than a number. */
  readonly isPronoun: boolean;
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

/** Scale letters that are units as well (metre, millimetre, byte). */
const AMBIGUOUS: ReadonlySet<string> = new Set(["m", "mm", "b"]);

const PHONE = /(?<![\d-])(?:\+?1[-. ])?\(?(\d{3})\)?[-. ]{1,2}(\d{3})[-. ](\d{4})(?!\d)/g;

const DIGITS =
  /(?<!\w)(?<!\d\.)([-−](?=[$€£]?[\d.]))?[$€£]?\s?(?=\.?\d)(\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(\.\d+)?(?:[\s-]?(hundred|dozen|thousand|million|mil|billion|bn|trillion)s?\b|(mm|k|m|b)\b)?(\s?%|\s?(?:percent|per cent|pct)\b)?/g;

const SMALL_NUMBERS = [
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  ),
  "twenty thirty forty fifty sixty seventy eighty ninety".split(" "),
] as const;
const WORD_VALUES = new Map([
  ...SMALL_NUMBERS[0].map((word, i) => [word, i] as const),
  ...SMALL_NUMBERS[1].map((word, i) => [word, (i + 2) * 10] as const),
]);
const WORD = [...WORD_VALUES.keys(), "hundred", "thousand", "million", "billion"].join("|");
const SPELLED = new RegExp(
  `(?<![\\w-])(?:an? )?(?:${WORD}|dozen)(?:(?:[\\s-]|,? and )(?:${WORD}|dozen))*(?![\\w])(\\s?%|\\s(?:percent|per cent|pct)\\b)?`,
  "g",
);

/** The numbers of a text, in digits or spelled out. Digits inside words (Q3, EB3801) do not count. */
export function parseNumbers(text: string): ParsedNumber[] {
  const found: ParsedNumber[] = [];
  const add = (values: readonly number[], isPronoun = false) => {
    found.push({ values: new Set(values.map(roundOff)), isPronoun });
    return " ";
  };
  text
    .toLowerCase()
    .replace(PHONE, (_, area: string, exchange: string, line: string) => add([Number(area + exchange + line)]))
    .replace(DIGITS, (_, minus, digits, decimals, scale, letter, percent) => {
      const unscaled = Number(
        `${minus === undefined ? "" : "-"}${(digits ?? "0").replaceAll(",", "")}${decimals ?? ""}`,
      );
      const scaled = unscaled * (SCALES[scale ?? letter ?? ""] ?? 1);
      const values = AMBIGUOUS.has(letter ?? "") ? [scaled, unscaled] : [scaled];
      return add(percent === undefined ? values : [...values, scaled / 100]);
    })
    .replace(SPELLED, (words: string, percent) => {
      const value = valueOfWords(words);
      if (value === null) return words;
      return add(percent === undefined ? [value] : [value, value / 100], words.trim() === "one");
    });
  return found;
}

/** Removes binary rounding errors. */
function roundOff(value: number): number {
  return Number(value.toPrecision(12));
}

/** `one hundred and twenty-five thousand`; null if the value is not finite. */
function valueOfWords(text: string): number | null {
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
