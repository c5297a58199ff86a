/** A day as a text gives it; what it leaves open is null. */
export interface CalendarDay {
  readonly year: number | null;
  readonly month: number;
  readonly day: number | null;
}

/** One mention of a time of day: every reading it may have, as minutes after midnight. `9:30` may be morning or evening. */
export type TimeOfDay = ReadonlySet<number>;

export interface Moments {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  /** The text with all of them crossed out, for what else stands in it. */
  readonly rest: string;
}

const NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?(?![\\d:]|[a-z])";
const YEAR = "(\\d{4}|'\\d{2})(?!\\d)";
const CLOCK = "(\\d{1,2})(?:[:.](\\d{2}))?";
const HALF = "([ap])\\.?m\\b\\.?";

type Groups = readonly (string | undefined)[];

/** Tried in this order; each one's finds are crossed out before the next is tried. Null: it only looks like one. */
const DAY_FORMS: readonly (readonly [RegExp, (groups: Groups) => CalendarDay | null])[] = [
  [/(?<![\d/-])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?![\d/-])/g, ([y, m, d]) => dayOf(yearOf(y), Number(m), Number(d))],
  [
    new RegExp(`(?<![\\w:/.-])${DAY}\\s+(?:of\\s+)?${MONTH}(?![a-z])(?:,?\\s+${YEAR})?`, "g"),
    ([d, name, y]) => dayOf(yearOf(y), monthOf(name), Number(d)),
  ],
  [
    new RegExp(`(?<![a-z])${MONTH}\\s+(?:the\\s+)?${DAY}(?:,?\\s+(?:of\\s+)?${YEAR})?`, "g"),
    ([name, d, y]) => dayOf(yearOf(y), monthOf(name), Number(d)),
  ],
  [new RegExp(`(?<![a-z])${MONTH}(?:,|\\s+of)?\\s+${YEAR}`, "g"), ([name, y]) => dayOf(yearOf(y), monthOf(name), null)],
  [/(?<![\d/.-])(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])/g, ([a, , b, y]) => american(a, b, yearOf(y))],
  [/(?<![\d/.-])(\d{1,2})\/(\d{1,2})(?![\d/]|\.\d)/g, ([m, d]) => dayOf(null, Number(m), Number(d))],
];

const TIME_FORMS: readonly (readonly [RegExp, (groups: Groups) => TimeOfDay | null])[] = [
  // The first of a range, whose am or pm stands with the second.
  [
    new RegExp(`(?<![\\w:.$])${CLOCK}(?=\\s*(?:-|–|to|until)\\s*\\d{1,2}(?:[:.]\\d{2})?\\s*${HALF})`, "g"),
    ([h, m]) => eitherHalf(Number(h), Number(m ?? 0)),
  ],
  [
    new RegExp(`(?<![\\w:.$])${CLOCK}(?::\\d{2})?\\s*${HALF}`, "g"),
    ([h, m, half]) =>
      clock((Number(h) % 12) + (half === "p" ? 12 : 0), Number(m ?? 0), Number(h) <= 12 && Number(h) > 0),
  ],
  [/(?:\b12(?::00)?\s*)?\b(?:noon|midday)\b/g, () => clock(12, 0)],
  [/(?:\b12(?::00)?\s*)?\bmidnight\b/g, () => clock(0, 0)],
  [/(?<![\w:.])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])/g, ([h, m]) => eitherHalf(Number(h), Number(m))],
  [/(?<![\w:.,$/-])([01]\d|2[0-3])([0-5]\d)(?=\s*(?:hours|hrs|h)\b)/g, ([h, m]) => clock(Number(h), Number(m))],
  [/(?<![\w:.,$/-])(0\d)([0-5]\d)(?![\w/-]|[.,]\d)/g, ([h, m]) => clock(Number(h), Number(m))],
];

/** Every form of a day or a time has one of these: most answers are done with when they are looked for. */
const MAY_HOLD = /\d|noon|midday|midnight/;

/** Days and times of day in a text. Numeric days are read the American way unless only the other can be. */
export function momentsIn(text: string): Moments {
  const days: CalendarDay[] = [];
  const times: TimeOfDay[] = [];
  let rest = text.toLowerCase();
  if (!MAY_HOLD.test(rest)) return { days, times, rest };
  for (const [form, read] of DAY_FORMS) rest = taken(rest, form, read, days);
  for (const [form, read] of TIME_FORMS) rest = taken(rest, form, read, times);
  return { days, times, rest };
}

function taken<T>(text: string, form: RegExp, read: (groups: Groups) => T | null, into: T[]): string {
  return text.replace(form, (whole: string, ...more: unknown[]) => {
    const found = read(more.slice(0, -2) as Groups);
    if (found === null) return whole;
    into.push(found);
    // A letter, so that the hyphen of a range that follows is no minus.
    return "x".repeat(whole.length);
  });
}

/** Whether the second says the first: what the first leaves open may be anything, and its year may be left out. */
export function saysDay(wanted: CalendarDay, said: CalendarDay): boolean {
  if (wanted.month !== said.month) return false;
  if (wanted.day !== null && wanted.day !== said.day) return false;
  return wanted.year === null || said.year === null || wanted.year === said.year;
}

function dayOf(year: number | null, month: number, day: number | null): CalendarDay | null {
  const isDay = day === null || (day >= 1 && day <= 31);
  return month >= 1 && month <= 12 && isDay ? { year, month, day } : null;
}

function american(a: string | undefined, b: string | undefined, year: number | null): CalendarDay | null {
  return dayOf(year, Number(a), Number(b)) ?? dayOf(year, Number(b), Number(a));
}

function monthOf(name = ""): number {
  return NAMES.indexOf(name.slice(0, 3)) + 1;
}

/** Two digits are of 1950 to 2049. */
function yearOf(digits: string | undefined): number | null {
  if (digits === undefined) return null;
  const year = Number(digits.replace("'", ""));
  return year >= 100 ? year : year < 50 ? 2000 + year : 1900 + year;
}

function clock(hour: number, minute: number, isTime = true): TimeOfDay | null {
  return isTime && hour < 24 && minute < 60 ? new Set([hour * 60 + minute]) : null;
}

function eitherHalf(hour: number, minute: number): TimeOfDay | null {
  if (hour > 23 || minute > 59) return null;
  if (hour === 0 || hour > 12) return new Set([hour * 60 + minute]);
  return new Set([(hour % 12) * 60 + minute, ((hour % 12) + 12) * 60 + minute]);
}
