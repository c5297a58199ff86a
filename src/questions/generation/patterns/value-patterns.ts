import type { QuestionKind } from "../../../domain/tasks/question-provenance.js";
import { parseDatesAndTimes } from "../../../domain/values/parse-dates.js";

/** A value where it stands. */
export interface FoundValue {
  readonly value: string;
  /** The passage up to it. */
  readonly before: string;
  readonly passage: string;
}

/** A kind of value that patterns find in a passage, and how a question asks for it. */
export interface ValuePattern {
  readonly name: string;
  readonly kind: QuestionKind;
  /** Global; the first group is the value, else the whole match. */
  readonly value: RegExp;
  /** What else the passage must hold; null: nothing. */
  readonly context: RegExp | null;
  /** Whether it is how to reach someone: below many mails of a person, it answers no question. */
  readonly isContact: boolean;
  /** What is asked for, as in "... did Bo Kim give": the words before and the verb. */
  ask(found: FoundValue): { readonly what: string; readonly verb: string };
}

const MONTH =
  "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const WEEKDAY = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\\s+)?";
// "Jan 02" is a month as often as a day.
const NAMED_DAY = `${MONTH}\\s+(?!0)\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s+\\d{4})?`;
// Neither "1/2" of something nor a part of a longer number.
const NUMERIC_DAY =
  "(?<![\\d/])(?!(?:1/[234]|[23]/[34])(?![\\d/]))\\d{1,2}/\\d{1,2}(?:/\\d{2,4})?(?!\\s*(?:hours?|hrs?|min(?:ute)?s?|days?|miles?|%))";
const STREET =
  "(?:[Ss]treet|St\\.|[Aa]venue|Ave\\.?|[Rr]oad|Rd\\.|[Bb]oulevard|Blvd\\.?|Drive|Dr\\.|Lane|Ln\\.|Parkway|Pkwy\\.?|Plaza|Court)";
const EVENT =
  /\b(meeting|call|conference|lunch|dinner|breakfast|interview|presentation|session|class|appointment|party|flight|training)\b/i;
const DEADLINE = /\b(?:due|deadline|no later than|by)\W+(?:\w+\W+){0,2}$/i;
const CURRENCY = "(?:[$€£]|\\b(?:USD|EUR|GBP|CHF)\\b)";
const UNIT = "(?:\\s?(?:million|billion|thousand|mm|bn|[mbk])\\b)?(?:\\s?\\/\\s?[a-z]+(?:-[a-z]+)?)?";
const SUM = "\\d(?:[\\d.,]*\\d)?";

/** Ordered by how well a value can be told from others. */
export const VALUE_PATTERNS: readonly ValuePattern[] = [
  {
    name: "time of an appointment",
    kind: "when",
    value: /(?<![\w:.$])(\d{1,2}(?::\d{2})?\s*(?:[ap](?:\.m\.|m\b)|noon\b)|\d{1,2}:\d{2}(?![\d:]))/gi,
    context: EVENT,
    isContact: false,
    ask: ({ passage }) => ({
      what: "What time",
      verb: `give for the ${(EVENT.exec(passage)?.[0] ?? "appointment").toLowerCase()}`,
    }),
  },
  {
    name: "date",
    kind: "when",
    value: new RegExp(`${WEEKDAY}(?<!\\w)(?:${NAMED_DAY}|${NUMERIC_DAY})(?![\\w/]|\\s?[-–]\\s?\\d)`, "gi"),
    context: null,
    isContact: false,
    ask: ({ before }) =>
      DEADLINE.test(before) ? { what: "Which deadline", verb: "give" } : { what: "Which date", verb: "mention" },
  },
  {
    name: "amount of money",
    kind: "how_much",
    value: new RegExp(
      `${CURRENCY}\\s?${SUM}${UNIT}|(?<![\\w.,])${SUM}\\s?(?:€|(?:USD|EUR|GBP|CHF|dollars|euros)\\b)`,
      "gi",
    ),
    context: null,
    isContact: false,
    ask: () => ({ what: "What amount of money", verb: "mention" }),
  },
  {
    name: "telephone number",
    kind: "what",
    value:
      /(?<![\d-])(?:(?:\+?1[-. ])?\(?\d{3}\)?[-. ]{1,2}\d{3}[-. ]\d{4}|\+\d{1,3}(?:[-. ]?\(?\d{1,5}\)?){2,5})(?!\d)/g,
    context: /\b(call|phone|number|fax|dial|cell|reach|pager|contact|tel)\b/i,
    isContact: true,
    ask: ({ passage }) => ({ what: `Which ${/\bfax\b/i.test(passage) ? "fax" : "telephone"} number`, verb: "give" }),
  },
  {
    name: "street address",
    kind: "where",
    value: new RegExp(
      `(?<![\\w$.,])\\d{1,5}\\s+(?:(?:[NSEW]\\.?|\\d{1,3}(?:st|nd|rd|th)|[A-Z][\\w.]+)\\s+){1,3}${STREET}(?!\\w)`,
      "g",
    ),
    context: null,
    isContact: true,
    ask: () => ({ what: "Which street address", verb: "give" }),
  },
  {
    name: "room",
    kind: "where",
    value: /\b(?:EB\s?-?\d{3,4}\w?|(?:conference\s+)?room\s+\w*\d\w*)/gi,
    context: null,
    isContact: true,
    ask: () => ({ what: "Which room", verb: "name" }),
  },
  {
    name: "mail address",
    kind: "what",
    value: /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
    context: /\b(e-?mail|address|contact|send|sent|write|reach|forward|account)\b/i,
    isContact: true,
    ask: () => ({ what: "Which e-mail address", verb: "give" }),
  },
];

/** The different values in a text, as written but for white space. */
export function valuesIn({ value, name }: ValuePattern, text: string): string[] {
  const found = [...text.matchAll(value)].map((match) => (match[1] ?? match[0]).replace(/\s+/g, " ").trim());
  // "20/30 minutes" is no date.
  const valid = name === "date" ? found.filter((one) => parseDatesAndTimes(one).days.length > 0) : found;
  return [...new Map(valid.map((one) => [one.toLowerCase(), one])).values()];
}
