/** A number in a text with all its possible values. `5%` is 5 or 0.05, and `5mm` is 5 or, as money, five million. */
export interface ParsedNumber {
  readonly values: ReadonlySet<number>;
  /** Whether it is a lone "one", which is more often a pronoun than a number. */
  readonly isPronoun: boolean;
}

/** A date as written in a text. Omitted parts are null. */
export interface CalendarDay {
  readonly year: number | null;
  readonly month: number;
  readonly day: number | null;
}

/** All possible readings of one time of day, in minutes after midnight. `9:30` could be am or pm. */
export type TimeOfDay = ReadonlySet<number>;

interface DatesAndTimes {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  /** The text with the dates and times masked, so that their digits are not read as numbers. */
  readonly rest: string;
}

type Groups = readonly (string | undefined)[];

/** Values of the words and letters that scale a number. */
export const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  dozen: 12,
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mm: 1e6,
  mil: 1e6,
  mln: 1e6,
  million: 1e6,
  b: 1e9,
  bn: 1e9,
  bln: 1e9,
  billion: 1e9,
  trillion: 1e12,
  tsd: 1e3,
  lakh: 1e5,
  mio: 1e6,
  crore: 1e7,
  mrd: 1e9,
};

/** The words among the scales, as the alternatives of an expression. One or two letters can mean something else. */
export const SCALE_WORDS = [...Object.keys(SCALES).filter((word) => word.length > 2), "bn"].join("|");

/** Scale letters that are also units (meter, millimeter, byte). */
const AMBIGUOUS: ReadonlySet<string> = new Set(["m", "mm", "b"]);

const PHONE = /(?<![\d-])(?:\+?1[-. ])?\(?(\d{3})\)?[-. ]{1,2}(\d{3})[-. ](\d{4})(?!\d)/g;

/**
 * The digits of a number in groups: `21,500`, `21 500`, `21'500`, `1.234.500`, `1,23,456`. The source of a regular
 * expression.
 */
export const GROUPED =
  "\\d{1,3}(?:(?:,\\d{3})+|(?:[ \\u00a0\\u202f]\\d{3})+|(?:['’]\\d{3})+|(?:\\.\\d{3}){2,}|(?:\\.\\d{3})+(?=,\\d{2}(?!\\d))|(?:,\\d{2})+,\\d{3})(?!\\d)";

/** Decimals after a point, or two digits after a comma. */
const DECIMALS = "\\.\\d+|,\\d{2}(?![\\d,])";

/** A number with its groups and decimals, as the source of a regular expression. */
export const NUMBER = `(?:${GROUPED}|\\d+)(?:${DECIMALS})?`;

const DIGITS = new RegExp(
  `(?<!\\w)(?<!\\d\\.)([-−](?=[$€£]?[\\d.]))?[$€£]?\\s?(?=\\.?\\d)(${GROUPED}|\\d+)?(${DECIMALS})?(?:[\\s-]?(${SCALE_WORDS})s?\\b|(mm|k|m|b)\\b)?(\\s?%|\\s?(?:percent|per cent|pct)\\b)?`,
  "g",
);

/** Currencies whose sums have a point between groups: `15.500 EUR`. */
const BEFORE_SUM = /(?:€|\b(?:eur|chf))\s?$/;
const AFTER_SUM = /^\s?(?:€|(?:eur|euros?|chf)\b)/;

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

/** Returns the numbers in a text, in digits or spelled out. Ignores digits inside words (Q3, EB3801). */
export function parseNumbers(text: string): ParsedNumber[] {
  const numbers: ParsedNumber[] = [];
  const add = (values: readonly number[], isPronoun = false) => {
    numbers.push({ values: new Set(values.map(roundOff)), isPronoun });
    return " ";
  };
  text
    .toLowerCase()
    .replace(PHONE, (_, area: string, exchange: string, line: string) => add([Number(area + exchange + line)]))
    .replace(DIGITS, (match: string, minus, digits, decimals, scale, letter, percent, at: number, all: string) => {
      // The currency can be the start of the match.
      const before = all.slice(Math.max(0, at - 5), at) + match.slice(0, match.search(/\d/));
      const isSum = BEFORE_SUM.test(before) || AFTER_SUM.test(all.slice(at + match.length, at + match.length + 7));
      const isGroup = isSum && /^\.\d{3}$/.test(decimals ?? "");
      const whole = `${digits ?? "0"}${isGroup ? decimals : ""}`.replace(/\D/g, "");
      const fraction = isGroup ? "" : (decimals ?? "").replace(",", ".");
      const unscaled = Number(`${minus === undefined ? "" : "-"}${whole}${fraction}`);
      const scaled = unscaled * (SCALES[scale ?? letter ?? ""] ?? 1);
      const values = AMBIGUOUS.has(letter ?? "") ? [scaled, unscaled] : [scaled];
      return add(percent === undefined ? values : [...values, scaled / 100]);
    })
    .replace(SPELLED, (words: string, percent) => {
      const value = valueOfWords(words);
      if (value === null) return words;
      return add(percent === undefined ? [value] : [value, value / 100], words.trim() === "one");
    });
  return numbers;
}

/** Removes binary rounding errors. */
function roundOff(value: number): number {
  return Number(value.toPrecision(12));
}

/** Returns the value of `one hundred and twenty-five thousand`, or null if it is not finite. */
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

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** The names and abbreviations of the months, as alternatives of a regular expression. */
export const MONTH_NAMES =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";

const MONTH = `(${MONTH_NAMES})\\.?`;
// "May 12,500" and "may 4.5" are a word and a number.
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?(?!:?\\d|[a-z]|,\\d{3}(?!\\d)|\\.\\d)";
const YEAR = "(\\d{4}|'\\d{2})(?!\\d)";
const HOUR_MINUTE = "(\\d{1,2})(?:[:.](\\d{2}))?";
const AM_PM = "([ap])\\.?m\\b\\.?";

/** Tried in this order. Each pattern's matches are masked before the next is tried; null if a match is not a date. */
const DATE_PATTERNS: readonly (readonly [RegExp, (groups: Groups) => CalendarDay | null])[] = [
  [/(?<![\d/-])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?![\d/-])/g, ([y, m, d]) => validDay(yearOf(y), Number(m), Number(d))],
  [
    new RegExp(`(?<![\\w:/.,-])${DAY}\\s+(?:of\\s+)?${MONTH}(?![a-z])(?:,?\\s+${YEAR})?`, "g"),
    ([d, name, y]) => validDay(yearOf(y), monthOf(name), Number(d)),
  ],
  [
    new RegExp(`(?<![a-z])${MONTH}\\s+(?:the\\s+)?${DAY}(?:,?\\s+(?:of\\s+)?${YEAR})?`, "g"),
    ([name, d, y]) => validDay(yearOf(y), monthOf(name), Number(d)),
  ],
  [
    new RegExp(`(?<![a-z])${MONTH}(?:,|\\s+of)?\\s+${YEAR}`, "g"),
    ([name, y]) => validDay(yearOf(y), monthOf(name), null),
  ],
  [/(?<![\d/.-])(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])/g, ([a, , b, y]) => monthFirst(a, b, yearOf(y))],
  [/(?<![\d/.-])(\d{1,2})\/(\d{1,2})(?![\d/]|\.\d)/g, ([m, d]) => validDay(null, Number(m), Number(d))],
];

const TIME_PATTERNS: readonly (readonly [RegExp, (groups: Groups) => TimeOfDay | null])[] = [
  // The start of a range that has am or pm only at its end.
  [
    new RegExp(`(?<![\\w:.$])${HOUR_MINUTE}(?=\\s*(?:-|–|to|until)\\s*\\d{1,2}(?:[:.]\\d{2})?\\s*${AM_PM})`, "g"),
    ([h, m]) => amOrPm(Number(h), Number(m ?? 0)),
  ],
  [
    new RegExp(`(?<![\\w:.$])${HOUR_MINUTE}(?::\\d{2})?\\s*${AM_PM}`, "g"),
    ([h, m, half]) =>
      timeOfDay((Number(h) % 12) + (half === "p" ? 12 : 0), Number(m ?? 0), Number(h) <= 12 && Number(h) > 0),
  ],
  [/(?:\b12(?::00)?\s*)?\b(?:noon|midday)\b/g, () => timeOfDay(12, 0)],
  [/(?:\b12(?::00)?\s*)?\bmidnight\b/g, () => timeOfDay(0, 0)],
  [/(?<![\w:.])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])/g, ([h, m]) => amOrPm(Number(h), Number(m))],
  [/(?<![\w:.,$/-])([01]\d|2[0-3])([0-5]\d)(?=\s*(?:hours|hrs|h)\b)/g, ([h, m]) => timeOfDay(Number(h), Number(m))],
  [/(?<![\w:.,$/-])(0\d)([0-5]\d)(?![\w/-]|[.,]\d)/g, ([h, m]) => timeOfDay(Number(h), Number(m))],
];

/** The patterns and words for dates, times and numbers, for implementations in other languages. */
export const DATE_AND_NUMBER_RULES = {
  MONTHS,
  DATE_PATTERNS: DATE_PATTERNS.map(([pattern]) => pattern),
  TIME_PATTERNS: TIME_PATTERNS.map(([pattern]) => pattern),
  SCALES,
  AMBIGUOUS: [...AMBIGUOUS],
  PHONE,
  DIGITS,
  BEFORE_SUM,
  AFTER_SUM,
  WORD_VALUES: Object.fromEntries(WORD_VALUES),
  SPELLED,
};

/** Every pattern needs one of these, so most answers need no further matching. */
const CANDIDATE = /\d|noon|midday|midnight/;

/** Returns the dates and times of day in a text. Numeric dates are month first, unless only day first is valid. */
export function parseDatesAndTimes(text: string): DatesAndTimes {
  const days: CalendarDay[] = [];
  const times: TimeOfDay[] = [];
  let rest = text.toLowerCase();
  if (!CANDIDATE.test(rest)) return { days, times, rest };
  for (const [pattern, read] of DATE_PATTERNS) rest = extractMatches(rest, pattern, read, days);
  for (const [pattern, read] of TIME_PATTERNS) rest = extractMatches(rest, pattern, read, times);
  return { days, times, rest };
}

/** Resolves days without a month ("Tuesday, the 13th") to the next such day on or after `date` (`YYYY-MM-DD...`). */
export function resolveDaysOfMonth(text: string, date: string): CalendarDay[] {
  const [year = 0, month = 0, today = 0] = date.slice(0, 10).split("-").map(Number);
  return [...text.matchAll(DAY_OF_MONTH)].flatMap(([, digits]) => {
    const day = Number(digits);
    const isNextMonth = day < today;
    const resolved = {
      year: isNextMonth && month === 12 ? year + 1 : year,
      month: isNextMonth ? (month % 12) + 1 : month,
    };
    return validDay(resolved.year, resolved.month, day) ?? [];
  });
}

/** A day with its weekday or article that is not followed by a month. */
const DAY_OF_MONTH = new RegExp(
  `\\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?|the)\\s+(\\d{1,2})(?:st|nd|rd|th)\\b(?!\\s+(?:of\\s+)?(?:${MONTH_NAMES})\\b)`,
  "gi",
);

/** Appends the matches of a pattern to `found` and returns the text with the matches masked. */
function extractMatches<T>(text: string, pattern: RegExp, read: (groups: Groups) => T | null, matches: T[]): string {
  return text.replace(pattern, (match: string, ...groupsOffsetText: unknown[]) => {
    const value = read(groupsOffsetText.slice(0, -2) as Groups);
    if (value === null) return match;
    matches.push(value);
    // Mask with a letter: after a space, the hyphen of a range would be read as a minus.
    return "x".repeat(match.length);
  });
}

/** Returns whether two dates match. Null parts of `wanted` match anything, and `found` can omit the year. */
export function matchesDay(day: CalendarDay, other: CalendarDay): boolean {
  if (day.month !== other.month) return false;
  if (day.day !== null && day.day !== other.day) return false;
  return day.year === null || other.year === null || day.year === other.year;
}

function validDay(year: number | null, month: number, day: number | null): CalendarDay | null {
  const isDay = day === null || (day >= 1 && day <= 31);
  return month >= 1 && month <= 12 && isDay ? { year, month, day } : null;
}

function monthFirst(a: string | undefined, b: string | undefined, year: number | null): CalendarDay | null {
  return validDay(year, Number(a), Number(b)) ?? validDay(year, Number(b), Number(a));
}

/** Returns the number (1 to 12) of a month's name or abbreviation in lower case, or 0 if it is not a month. */
export function monthOf(name = ""): number {
  return MONTHS.indexOf(name.slice(0, 3)) + 1;
}

/** Reads two digits as a year from 1950 to 2049. */
function yearOf(digits: string | undefined): number | null {
  if (digits === undefined) return null;
  const year = Number(digits.replace("'", ""));
  return year >= 100 ? year : year < 50 ? 2000 + year : 1900 + year;
}

function timeOfDay(hour: number, minute: number, isTime = true): TimeOfDay | null {
  return isTime && hour < 24 && minute < 60 ? new Set([hour * 60 + minute]) : null;
}

function amOrPm(hour: number, minute: number): TimeOfDay | null {
  if (hour > 23 || minute > 59) return null;
  if (hour === 0 || hour > 12) return new Set([hour * 60 + minute]);
  return new Set([(hour % 12) * 60 + minute, ((hour % 12) + 12) * 60 + minute]);
}
