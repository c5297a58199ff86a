import type { SignalQuery, SignalStrength } from "./ranking-signal.js";

/** What a question asks for, and how it is written in an answer. The first kind that fits is taken. */
const KINDS: readonly { readonly asked: RegExp; readonly written: RegExp }[] = [
  { asked: /\be-?mail address/i, written: /\S@\S/ },
  {
    asked: /^\W*when\b|\b(?:what|which) (?:day|date)\b|\bwhen (?:is|are|do|does|did|will|can)\b/i,
    written:
      /\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b\d{1,2}\/\d{1,2}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}\b|\btomorrow\b|\bnext week\b/i,
  },
  { asked: /\bwhat time\b/i, written: /\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\b\d{1,2}:\d\d\b|\bnoon\b/i },
  {
    asked: /\b(?:phone|fax|pager|telephone|cell|mobile|call-in)(?: and \w+)? numbers?\b|\bhome number\b/i,
    written: /\d{3}[-./) ]{1,2}\d{3}[-. ]\d{4}|\d{3}-\d{4}/,
  },
  {
    asked: /\bhow much\b|\b(?:price|cost|premium|fee|salary|paid)\b|\bamount of money\b/i,
    written: /\$ ?\d|\d ?(?:cents|dollars|million|%)|\d,\d{3}|\.\d\d\b/i,
  },
  { asked: /\bhow many\b|\b(?:rate|volume)\b/i, written: /\d/ },
];

/** Mail whose sender wrote something of the kind that is asked for: an amount, a day, a time, a telephone number. */
export function detectAnswerKind({ words }: SignalQuery): SignalStrength | null {
  const kind = KINDS.find(({ asked }) => asked.test(words));
  return kind === undefined ? null : ({ ownText }) => (kind.written.test(ownText) ? 1 : 0);
}
