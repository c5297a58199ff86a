import { parseDatesAndTimes } from "../../domain/values/parse-dates.js";
import { parseNumbers } from "../../domain/values/parse-numbers.js";
import type { VisibleTrace } from "../visible-trace.js";
import { DOES_NOT_APPLY, type Feature } from "./feature.js";

/** Characters of the answer that are looked at. */
const MAX_CHARS = 20_000;

const ASKS_DATE =
  /^(when\b|(on|by|until|since) (what|which) (date|day)|(what|which) (date|day|month|year|time)\b|what time\b)/i;
const ASKS_NUMBER =
  /\b(how (many|much|long|large|big|high|old|often)|what (is|was|were|are) the (price|amount|number|percentage|rate|cost|total|volume|phone|fax|extension)|what (price|amount|number|percentage|rate|percent))\b/i;
const RELATIVE_DAY =
  /\b(today|tomorrow|yesterday|tonight|noon|midnight|mon|tues?|wed(nes)?|thur?s?|fri|sat(ur)?|sun)(day)?\b|\b(jan|febr?u?|march|april|may|june|july|august|sept|octo|novem|decem)\w*|\b(next|last|this) (week|month|quarter|year)\b/i;

export const answerComplete: Feature = {
  meaning: "1 where the last reply of the model was not cut off by its limit of tokens, else 0",
  of({ turns }) {
    const last = turns.at(-1);
    return last === undefined ? DOES_NOT_APPLY : { value: last.finishReason === "length" ? 0 : 1 };
  },
};

export const ended: Feature = {
  meaning: "1 where the agent ended with an answer or an abstention, else 0",
  of: ({ ending }) => ({ value: ending === "answered" || ending === "dont_know" ? 1 : 0, detail: ending }),
};

export const dateGiven: Feature = {
  meaning: "1 where the answer names a date, a day or a time, else 0; of questions that ask when",
  of: (trace) =>
    asks(trace, ASKS_DATE) ? { value: hasDate(trace.answer.slice(0, MAX_CHARS)) ? 1 : 0 } : DOES_NOT_APPLY,
};

export const numberGiven: Feature = {
  meaning: "1 where the answer has a number, else 0; of questions that ask how many or how much",
  of: (trace) =>
    asks(trace, ASKS_NUMBER)
      ? { value: /\d/.test(trace.answer) || parseNumbers(trace.answer.slice(0, MAX_CHARS)).length > 0 ? 1 : 0 }
      : DOES_NOT_APPLY,
};

export const answerWords: Feature = {
  meaning: "words of the answer",
  of({ answer, abstained, isSuite }) {
    if (isSuite || abstained || answer.trim() === "") return DOES_NOT_APPLY;
    return { value: answer.trim().split(/\s+/).length };
  },
};

/** Whether the question asks for such a value and the agent claims to have one. */
function asks({ question, answer, abstained, isSuite }: VisibleTrace, form: RegExp): boolean {
  return !isSuite && !abstained && answer.trim() !== "" && form.test(question.trim());
}

function hasDate(answer: string): boolean {
  const { days, times } = parseDatesAndTimes(answer);
  return days.length > 0 || times.length > 0 || RELATIVE_DAY.test(answer) || /\b(19|20)\d\d\b/.test(answer);
}
