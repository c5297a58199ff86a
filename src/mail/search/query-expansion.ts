// Query expansion: finds other spellings of a query's words, compounds, numbers and dates that the index might contain.
// An email with any of the spellings counts as containing the word.
import { compact } from "../../platform/optional-values.js";
import { GROUPED, MONTH_NAMES, monthOf, SCALES } from "../../text/dates-and-numbers.js";
import { identifierRuns, plainSeparators } from "../../text/identifiers.js";
import { withoutInflection } from "../../text/inflection.js";
import { plainLetters, withoutUmlauts } from "../../text/plain-letters.js";
import { STOP_WORDS } from "../../text/stop-words.js";
import { foldText, isUnsegmentedAt } from "../../text/tokenizer.js";

interface WrittenDay {
  readonly month: number;
  readonly day: number;
  /** The day's words in the query. */
  readonly words: readonly string[];
}

/** `(713) 853-0101`, `713.853.0101`, `+1 713/853-0101` */
const TELEPHONE = /(?<!\d)(?:\+?1[-. ])?\(?(\d{3})\)?[-. /]{0,2}(\d{3})[-. ](\d{4})(?!\d)/g;
const SHORT_TELEPHONE = /(?<![\d-])(\d{3})-(\d{4})(?![\d-])/g;
const GROUPED_NUMBER = new RegExp(`(?<![\\p{L}\\d.,/-])(${GROUPED})(?:[.,]00?)?(?![\\d,/-])`, "gu");
/** `1.5 million`, `$2MM`, `500k`. A single m or b is recognized only after a currency, because it could mean meters. */
const SCALED_NUMBER =
  /(?<![\d.,])(?:(?<currency>[$€£])\s?)?(?<number>\d{1,3}(?:\.\d{1,3})?)\s?(?<scale>thousand|million|mln|mm|billion|bln|bn|k|m|b)(?![\p{L}\p{N}])/giu;

/** Returns the query text with plain letters and with each number as one word: `73500` for `73,500`. */
export function plainQuery(query: string): string {
  return plainLetters(query)
    .replace(TELEPHONE, "$1$2$3")
    .replace(SHORT_TELEPHONE, "$1$2")
    .replace(GROUPED_NUMBER, (_, number: string) => number.replace(/\D/g, ""))
    .replace(SCALED_NUMBER, (amount, currency: string | undefined, number: string, scale: string) => {
      if (scale.length === 1 && scale !== "k" && currency === undefined) return amount;
      return String(Math.round(Number(number) * (SCALES[scale.toLowerCase()] as number)));
    })
    .replace(/(?<=\d\s?)(?:percent|per cent|pct)(?![\p{L}\p{N}])/giu, "%");
}

/** Returns the spellings of a number as index words: `73 500`, `713 853 0101`, `1 5 million`. */
function numberSpellings(word: string): string[] {
  if (!/^\d{4,12}$/.test(word)) return [];
  const telephone = /^1?(\d{3})(\d{3})(\d{4})$|^(\d{3})(\d{4})$/.exec(word)?.slice(1).filter(Boolean).join(" ");
  const groups = word.replace(/\B(?=(?:\d{3})+$)/g, " ");
  // India groups the digits before the last three in pairs.
  const pairs = word.replace(/\B(?=(?:\d{2})*\d{3}$)/g, " ");
  return compact([groups, pairs !== groups && pairs, telephone, ...scaledSpellings(Number(word))]);
}

function scaledSpellings(value: number): string[] {
  const [size, names] = (
    value >= 1e9 ? [1e9, ["billion", "bn"]] : value >= 1e6 ? [1e6, ["million", "mm", "m"]] : [1e3, ["thousand", "k"]]
  ) as [number, string[]];
  const number = String(value / size);
  // Longer numbers are never written this way.
  if (number.length > 5) return [];
  const words = number.replace(".", " ");
  return names.flatMap((name) => (name.length > 2 ? [`${words} ${name}`] : [`${words}${name}`, `${words} ${name}`]));
}

/** Words that can end a compound, such as follow-up and cutoff, and single letters that can start one. */
const PARTICLES = new Set("up off out in on over down back away by through".split(" "));
const LETTER_PREFIXES = new Set("e x o u".split(" "));

/** Minimum number of letters per part of a compound without a particle. */
const MIN_PART = 3;

/** Longer words are not split, because they are not compounds of two English words. */
const MAX_COMPOUND = 30;

/** Returns the possible splits of a word into two: `follow up` for `followup`. */
function splitSpellings(word: string): string[] {
  if (!/^\p{L}{5,}$/u.test(word) || word.length > MAX_COMPOUND || isUnsegmentedAt(word, 0)) return [];
  return Array.from({ length: word.length - 1 }, (_, i) => [word.slice(0, i + 1), word.slice(i + 1)] as const)
    .filter(([first, second]) => isPart(first, second) && !(STOP_WORDS.has(first) && STOP_WORDS.has(second)))
    .map((parts) => parts.join(" "));
}

function isPart(first: string, second: string): boolean {
  if (second.length < MIN_PART) return PARTICLES.has(second) && first.length >= MIN_PART;
  return first.length >= MIN_PART || PARTICLES.has(first) || LETTER_PREFIXES.has(first);
}

/**
 * Words that never start a compound: "a long" is not "along", and "it's pain" is not "it spain". Most can follow an
 * apostrophe.
 */
const NEVER_JOINED = new Set("a i s t d m ll re ve the".split(" "));

/** Returns whether two neighboring words could be one word: `cut-off`, `follow up`, `o'neil`, `50 mw`. */
function isJoint(first: string, second: string, gap: string): boolean {
  if (!/^[ '’‑-]$/.test(gap) || !/^\p{L}+$/u.test(second) || first.length + second.length > MAX_COMPOUND) return false;
  if (/^\d+$/.test(first)) return second.length < MIN_PART;
  if (!/^\p{L}+$/u.test(first)) return false;
  if (gap !== " ") return gap === "-" || gap === "‑" || !NEVER_JOINED.has(second);
  return !NEVER_JOINED.has(first) && !(STOP_WORDS.has(first) && STOP_WORDS.has(second));
}

/** Returns `50 mw` for `50mw`, and `15` for `15th`. */
function unitSpellings(word: string): string[] {
  const [, number = "", unit = ""] = /^(\d+)([a-z]{1,5})$/.exec(word) ?? [];
  if (number === "") return [];
  return /^(?:st|nd|rd|th)$/.test(unit) ? [number] : [`${number} ${unit}`];
}

const NAMED_DAY = new RegExp(
  `(?<![\\p{L}\\p{N}])(${MONTH_NAMES})\\.? (\\d{1,2}(?:st|nd|rd|th)?)(?![\\p{L}\\p{N}])`,
  "gu",
);
const DAY_OF_MONTH = new RegExp(
  `(?<![\\p{L}\\p{N}])(\\d{1,2}(?:st|nd|rd|th)?) (?:of )?(${MONTH_NAMES})(?![\\p{L}\\p{N}])`,
  "gu",
);
const NUMERIC_DAY = /(?<![\d/.-])(\d{1,2})\/(\d{1,2})(?:\/(?:\d{2}|\d{4}))?(?![\d/])/g;

function daysOf(text: string): WrittenDay[] {
  const monthFirst = [...text.matchAll(NAMED_DAY)].map(([, name = "", day = ""]) => [name, day] as const);
  const reversed = [...text.matchAll(DAY_OF_MONTH)].map(([, day = "", name = ""]) => [name, day] as const);
  const days = [...monthFirst, ...reversed].map(([name, day]) => ({
    month: monthOf(name),
    day: Number.parseInt(day, 10),
    words: [name, day],
  }));
  const numeric = [...text.matchAll(NUMERIC_DAY)].map(([, month = "", day = ""]) => ({
    month: Number(month),
    day: Number(day),
    words: [month, day],
  }));
  return [...days, ...numeric].filter(({ month, day }) => month >= 1 && month <= 12 && day >= 1 && day <= 31);
}

/** Returns the spellings of a day as index words: `march 15`, `15 mar`, `march 15th`, `3 15`. */
function daySpellings({ month, day }: WrittenDay): string[] {
  const name = MONTHS[month - 1] ?? "";
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  const byName = [name, name.slice(0, 3)].flatMap((each) =>
    [String(day), `${day}${ordinalEnding(day)}`].flatMap((number) => [`${each} ${number}`, `${number} ${each}`]),
  );
  const months = new Set([String(month), twoDigits(month)]);
  const days = [...new Set([String(day), twoDigits(day)])];
  return [...byName, ...[...months].flatMap((m) => days.map((d) => `${m} ${d}`))];
}

function ordinalEnding(day: number): string {
  if (day > 10 && day < 14) return "th";
  return ["th", "st", "nd", "rd"][day % 10] ?? "th";
}

const MONTHS = "january february march april may june july august september october november december".split(" ");

/**
 * Returns a function that looks up the other spellings of the words of `plainQuery(query)`. Each spelling is one word,
 * or several adjacent words. A frequent word does not get spellings in two parts, because it has up to 27 of them and
 * most occur by chance.
 */
export function openSpellings(query: string): (word: string, isFrequent: boolean) => readonly string[] {
  const ofQuery = new Map<string, string[]>();
  const add = (words: readonly string[], spellings: readonly string[]) => {
    for (const word of words.map((form) => foldText(form).text)) {
      ofQuery.set(word, [...(ofQuery.get(word) ?? []), ...spellings.map((spelling) => foldText(spelling).text)]);
    }
  };
  const plain = plainQuery(query);
  const text = plain.toLowerCase();
  const words = [...text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)];
  const addJoined = (parts: readonly RegExpExecArray[]) => {
    const pieces = parts.map(([piece]) => piece);
    const compound = pieces.join("");
    if (compound.length <= MAX_COMPOUND) add(pieces, [compound]);
  };
  const joints = words.slice(1).map(({ 0: second, index }, i) => {
    const { 0: first, index: start } = words[i] as RegExpExecArray;
    return isJoint(first, second, text.slice(start + first.length, index));
  });
  joints.forEach((isJointHere, i) => {
    if (!isJointHere) return;
    addJoined(words.slice(i, i + 2));
    // `QuarterlyBudgetReview`
    if (joints[i + 1] === true) addJoined(words.slice(i, i + 3));
  });
  // Compounds with three or more parts, and abbreviations such as U.S. or P.U.C.
  for (const [joined] of text.matchAll(
    /(?<![\p{L}\p{N}.-])(?:\p{L}+(?:-\p{L}+){2,9}|(?:\p{L}\.){2,6})(?![\p{L}\p{N}-])/gu,
  )) {
    const parts = joined.split(/[.-]/).filter((part) => part !== "");
    add(parts, [parts.join("")]);
  }
  for (const [capitals] of plain.matchAll(/(?<![\p{L}\p{N}])[A-Z]{2,5}(?![\p{L}\p{N}])/gu)) {
    add([capitals], [[...capitals].join(" ")]);
  }
  for (const { pieces, joined } of identifierRuns(plainSeparators(query), true)) add(pieces, [joined]);
  for (const word of query.match(/[\p{L}\p{M}]+/gu) ?? []) {
    add([plainLetters(word)], [...withoutUmlauts(word), ...withoutInflection(word)]);
  }
  for (const day of daysOf(text)) add(day.words, daySpellings(day));
  return (word, isFrequent) => [
    ...new Set([
      ...(ofQuery.get(word) ?? []),
      ...numberSpellings(word),
      ...(isFrequent ? [] : splitSpellings(word)),
      ...unitSpellings(word),
    ]),
  ];
}
