import type { ReturnedMail } from "../../domain/runs/returned-mails.js";
import { parseDatesAndTimes } from "../../domain/values/parse-dates.js";
import { parseNumbers } from "../../domain/values/parse-numbers.js";
import type { TraceView } from "../trace-view.js";
import { DOES_NOT_APPLY, type Feature, type Measurement, shareOf } from "./feature.js";

/** Characters of an answer or a mail that are searched for numbers. */
const MAX_CHARS = 50_000;

/** Numbers in digits, with their separators: `8,800`, `4.5`, `9:30`. Digits inside words (Q3) do not count. */
const WRITTEN = /(?<![\w.,:])\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/g;

export const numbersInMail: Feature = {
  meaning: "numbers of the answer that stand in a mail that was read (share)",
  of: (trace) => numbersFoundIn(trace, trace.opened.map(textOf)),
};

export const numbersInResults: Feature = {
  meaning: "numbers of the answer that stand in the result of some tool (share)",
  of: (trace) =>
    numbersFoundIn(
      trace,
      trace.toolCalls.map(({ result }) => (typeof result === "string" ? result : JSON.stringify(result ?? ""))),
    ),
};

/** A number of the question counts as found: the agent may repeat it. An abstention claims nothing. */
function numbersFoundIn(trace: TraceView, texts: readonly string[]): Measurement {
  const { answer, question, abstained } = trace;
  const numbers = abstained ? [] : [...new Set(answer.slice(0, MAX_CHARS).match(WRITTEN) ?? [])];
  if (numbers.length === 0) return DOES_NOT_APPLY;
  const searched = [question, ...texts].map((text) => text.slice(0, MAX_CHARS));
  const literal = new Set(searched.flatMap((text) => text.match(WRITTEN) ?? []));
  let values: ReadonlySet<number> | null = null;
  return shareOf(numbers, (number) => {
    if (literal.has(number)) return true;
    // Formats differ (1.5 million, 1,500,000; May 5 and 2001-05-05): only then the texts are parsed.
    values ??= valuesOf(searched);
    const known = values;
    return [...valuesOf([number])].some((value) => known.has(value));
  });
}

function valuesOf(texts: readonly string[]): Set<number> {
  const values = new Set<number>();
  for (const text of texts) {
    const { days, times, rest } = parseDatesAndTimes(text);
    for (const { year, month, day } of days) for (const part of [year, month, day]) if (part !== null) values.add(part);
    for (const time of times) for (const minutes of time) addTime(values, minutes);
    for (const { values: readings } of parseNumbers(rest)) for (const value of readings) values.add(value);
  }
  return values;
}

/** A time of day as its hour, its minutes, and both together as in 1430; no other number has its fraction. */
function addTime(values: Set<number>, minutes: number): void {
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60];
  for (const value of [hour, minute, hour * 100 + minute]) values.add(value);
}

function textOf(mail: ReturnedMail): string {
  return [mail.subject, mail.sender, mail.date, mail.body].filter((part) => typeof part === "string").join("\n");
}
