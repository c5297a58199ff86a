import type { ScorableQuestion, Scorer, ScorerEntry } from "../domain/scores/score.js";
import { type CalendarDay, matchesDay, parseDatesAndTimes, type TimeOfDay } from "../domain/values/parse-dates.js";
import { type ParsedNumber, parseNumbers } from "../domain/values/parse-numbers.js";

interface ParsedValues {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  readonly numbers: readonly ParsedNumber[];
}

/** Characters of a text that are parsed: each value of one text is compared with each of the other. */
const MAX_CHARS = 20_000;

function parseValues(text: string): ParsedValues {
  const { days, times, rest } = parseDatesAndTimes(text.slice(0, MAX_CHARS));
  return { days, times, numbers: parseNumbers(rest) };
}

/** Whether an answer contains one value of the gold answer. */
type IsInAnswer = (answer: ParsedValues) => boolean;

/**
 * 1 if the answer contains every value of the gold answer that `wanted` selects, in whatever format; further values in
 * the answer do not matter. Applies to questions whose gold answer contains such a value.
 */
function containsAll(
  wanted: (gold: ParsedValues) => readonly IsInAnswer[],
  kind: string,
): { score: Scorer; appliesTo(question: ScorableQuestion): boolean } {
  return {
    score({ answer, task }) {
      const checks = wanted(parseValues(task.answer));
      if (checks.length === 0) return { value: null, explanation: `the gold answer contains no ${kind}` };
      const values = parseValues(answer ?? "");
      return { value: checks.every((isInAnswer) => isInAnswer(values)) ? 1 : 0 };
    },
    appliesTo: ({ goldAnswer }) => wanted(parseValues(goldAnswer)).length > 0,
  };
}

function containsNumber({ values }: ParsedNumber, answer: ParsedValues): boolean {
  return (
    answer.numbers.some((found) => [...values].some((value) => found.values.has(value))) ||
    answer.times.some((time) => [...values].some((value) => time.has(minutesAfterMidnight(value)))) ||
    answer.days.some(({ year, day }) => (year !== null && values.has(year)) || (day !== null && values.has(day)))
  );
}

function containsTime(time: TimeOfDay, answer: ParsedValues): boolean {
  const isSame = (found: TimeOfDay) => [...found].some((minute) => time.has(minute));
  return (
    answer.times.some(isSame) ||
    answer.numbers.some(({ values }) => [...values].some((value) => time.has(minutesAfterMidnight(value))))
  );
}

/** Reads 1430 as a 24-hour time. Other numbers give -1 or more minutes than a day has, which no time equals. */
function minutesAfterMidnight(value: number): number {
  const [hour, minute] = [Math.floor(value / 100), value % 100];
  return Number.isInteger(value) && value >= 100 && minute < 60 ? hour * 60 + minute : -1;
}

export const numberMatch: ScorerEntry = {
  ...containsAll(
    (gold) =>
      gold.numbers
        .filter(({ isPronoun }) => !isPronoun)
        .map((number) => (answer: ParsedValues) => containsNumber(number, answer)),
    "number",
  ),
  label: "Numbers",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer contains every number of the gold answer, in any format ($1.5 million, 1,500,000); over the questions whose gold answer contains one.",
};

export const dateMatch: ScorerEntry = {
  ...containsAll(
    (gold) => [
      ...gold.days.map((day) => (answer: ParsedValues) => answer.days.some((found) => matchesDay(day, found))),
      ...gold.times.map((time) => (answer: ParsedValues) => containsTime(time, answer)),
    ],
    "date or time",
  ),
  label: "Dates and times",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer contains every date and time of day of the gold answer, in any format (9:30 am, 0930; May 5, 2001, 5/5/01); over the questions whose gold answer contains one.",
};
