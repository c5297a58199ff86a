import type { ReturnedMail } from "../../domain/runs/returned-mails.js";
import { type CalendarDay, matchesDay, parseDatesAndTimes, type TimeOfDay } from "../../domain/values/parse-dates.js";
import { parseNumbers } from "../../domain/values/parse-numbers.js";
import type { VisibleTrace } from "../visible-trace.js";
import { DOES_NOT_APPLY, type Feature, type Measurement, shareOf } from "./feature.js";

/** Characters of an answer or a mail that are searched for numbers. */
const MAX_CHARS = 50_000;

/** Numbers in digits, with their separators: `8,800`, `4.5`, `9:30`. Digits inside words (Q3) do not count. */
const WRITTEN = /(?<![\w.,:])\d+(?:[.,:]\d+)*(?![\w]|[.,:]\d)/g;
/** The same with the word that scales it: `1.5 million`, `1.5MM`. */
const SCALED =
  /(?<![\w.,:])\d+(?:[.,:]\d+)*(?:\s?(?:hundred|dozen|thousand|million|mil|billion|bn|trillion|mm|k|m|b)\b|(?![\w]|[.,:]\d))/gi;

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
function numbersFoundIn({ answer, question, abstained }: VisibleTrace, texts: readonly string[]): Measurement {
  const claims = abstained ? [] : (answer.slice(0, MAX_CHARS).match(SCALED) ?? []);
  if (claims.length === 0) return DOES_NOT_APPLY;
  const searched = [question, ...texts].map((text) => text.slice(0, MAX_CHARS));
  const literal = new Set(searched.flatMap((text) => text.match(WRITTEN) ?? []));
  if (claims.every((claim) => literal.has(claim))) return { value: 1 };
  // Formats differ (1.5 million, 1,500,000; May 5 and 5/5/01): only then the texts are parsed.
  const found = searched.map(parseValues);
  const given = parseValues(answer.slice(0, MAX_CHARS));
  const days = new Set(given.days.filter((day) => !found.some((text) => hasDay(text, day))));
  const times = new Set(given.times.filter((time) => !found.some((text) => hasTime(text, time))));
  const values = new Set(found.flatMap((text) => [...text.values]));
  const all = [
    ...given.days.map((day) => ({ text: formatDay(day), isFound: !days.has(day) })),
    ...given.times.map((time) => ({ text: formatTime(time), isFound: !times.has(time) })),
    ...(given.rest.match(SCALED) ?? []).map((text) => ({
      text,
      isFound: literal.has(text) || valuesOf(text).some((value) => values.has(value)),
    })),
  ];
  const odd = new Set(all.filter(({ isFound }) => !isFound).map(({ text }) => text));
  return shareOf([...new Set(all.map(({ text }) => text))], (text) => !odd.has(text));
}

interface TextValues {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  /** Without dates and times. */
  readonly rest: string;
  /** All numbers; of dates and times their parts, as an answer may name the year or the hour alone. */
  readonly values: ReadonlySet<number>;
}

function parseValues(text: string): TextValues {
  const { days, times, rest } = parseDatesAndTimes(text);
  const values = new Set(valuesOf(rest));
  for (const { year, month, day } of days) for (const part of [year, month, day]) if (part !== null) values.add(part);
  for (const time of times) for (const minutes of time) values.add(Math.floor(minutes / 60)).add(minutes % 60);
  return { days, times, rest, values };
}

function valuesOf(text: string): number[] {
  return parseNumbers(text).flatMap(({ values }) => [...values]);
}

function hasDay({ days }: TextValues, wanted: CalendarDay): boolean {
  return days.some((day) => matchesDay(wanted, day));
}

function hasTime({ times, values }: TextValues, wanted: TimeOfDay): boolean {
  const asNumber = (minutes: number) => Math.floor(minutes / 60) * 100 + (minutes % 60);
  return [...wanted].some((minutes) => values.has(asNumber(minutes)) || times.some((time) => time.has(minutes)));
}

function formatDay({ year, month, day }: CalendarDay): string {
  return [year, month, day].filter((part) => part !== null).join("-");
}

function formatTime(time: TimeOfDay): string {
  const [minutes = 0] = time;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}

function textOf(mail: ReturnedMail): string {
  return [mail.subject, mail.sender, mail.date, mail.body].filter((part) => typeof part === "string").join("\n");
}
