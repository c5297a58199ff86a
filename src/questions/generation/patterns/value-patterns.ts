import type { QuestionKind } from "../../../domain/tasks/question-provenance.js";

/** A kind of value that patterns find in a passage, and how a question asks for it. */
export interface ValuePattern {
  readonly name: string;
  readonly kind: QuestionKind;
  /** Global; the first group is the value, else the whole match. */
  readonly value: RegExp;
  /** What else the passage must hold. */
  readonly context: RegExp | null;
  /** `asker` is who wrote the mail ("I" for the owner); `topic` some words of the mail; `when` a month and year. */
  ask(about: { readonly asker: string; readonly topic: string; readonly when: string }): string;
}

const MONTH =
  "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const WEEKDAY = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\\s+)?";
const STREET =
  "(?:street|st\\.|avenue|ave\\.?|road|rd\\.|boulevard|blvd\\.?|drive|dr\\.|lane|ln\\.|parkway|pkwy\\.?|plaza|court)";

/** Ordered by how well a value can be told from others. */
export const VALUE_PATTERNS: readonly ValuePattern[] = [
  {
    name: "time of an appointment",
    kind: "when",
    value: /(?<![\w:.$])(\d{1,2}(?::\d{2})?\s*(?:[ap]\.?m\b\.?|noon\b)|\d{1,2}:\d{2}(?!\d))/gi,
    context:
      /\b(meet(ing)?s?|call|conference|lunch|dinner|breakfast|interview|presentation|session|class|appointment|party|flight|training)\b/i,
    ask: ({ asker, topic, when }) => `For what time did ${asker} announce ${topic} in ${when}?`,
  },
  {
    name: "date of a deadline",
    kind: "when",
    value: new RegExp(
      `${WEEKDAY}(?<!\\w)(?:${MONTH}\\s+\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s+\\d{4})?|\\d{1,2}/\\d{1,2}(?:/\\d{2,4})?)(?![\\w/])`,
      "gi",
    ),
    context:
      /\b(due|deadline|no later than|expires?|effective|starts?|starting|begins?|beginning|ends?|scheduled|until|by)\b/i,
    ask: ({ asker, topic, when }) => `Which date did ${asker} give for ${topic} in ${when}?`,
  },
  {
    name: "amount of money",
    kind: "how_much",
    value: /\$\s?\d(?:[\d,]*\d)?(?:\.\d+)?(?:\s?(?:million|billion|thousand|mm|m|k|bn)\b)?(?:\s?\/\s?[a-z]+)?/gi,
    context: null,
    ask: ({ asker, topic, when }) => `What amount of money did ${asker} name for ${topic} in ${when}?`,
  },
  {
    name: "telephone number",
    kind: "what",
    value: /(?<![\d-])(?:\+?1[-. ])?\(?\d{3}\)?[-. ]{1,2}\d{3}[-. ]\d{4}(?!\d)/g,
    context: /\b(call|phone|number|fax|dial|cell|reach|pager|contact|tel)\b/i,
    ask: ({ asker, topic, when }) => `Which telephone number did ${asker} give for ${topic} in ${when}?`,
  },
  {
    name: "street address",
    kind: "where",
    value: new RegExp(`(?<![\\w$.,])\\d{1,5}\\s+(?:[A-Z][\\w.]*\\s+){1,3}${STREET}(?!\\w)`, "gi"),
    context: null,
    ask: ({ asker, topic, when }) => `Which address did ${asker} give for ${topic} in ${when}?`,
  },
  {
    name: "room",
    kind: "where",
    value: /\b(?:EB\s?-?\d{3,4}\w?|(?:conference\s+)?room\s+\w*\d\w*)/gi,
    context: null,
    ask: ({ asker, topic, when }) => `Which room did ${asker} name for ${topic} in ${when}?`,
  },
  {
    name: "mail address",
    kind: "what",
    value: /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
    context: null,
    ask: ({ asker, topic, when }) => `Which e-mail address did ${asker} give for ${topic} in ${when}?`,
  },
];

/** The different values in a text, as written but for white space. */
export function valuesIn({ value }: ValuePattern, text: string): string[] {
  const found = [...text.matchAll(value)].map((match) => (match[1] ?? match[0]).replace(/\s+/g, " ").trim());
  return [...new Map(found.map((one) => [one.toLowerCase(), one])).values()];
}
