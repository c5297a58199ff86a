// Scorers of the numbers, dates and times in an answer, in any notation.
import {
  type CalendarDay,
  matchesDay,
  type ParsedNumber,
  parseDatesAndTimes,
  parseNumbers,
  type TimeOfDay,
} from "../../text/dates-and-numbers.js";
import type { ScorableQuestion } from "../../traces/score.js";
import type { Scorer, ScorerEntry } from "../scorer-entry.js";

interface ParsedValues {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  readonly numbers: readonly ParsedNumber[];
}

type IsInAnswer = (answer: ParsedValues) => boolean;

/** Maximum number of parsed characters per text. Each value in one text is compared with each value in the other. */
const MAX_CHARS = 20_000;

function parseValues(text: string): ParsedValues {
  const { days, times, rest } = parseDatesAndTimes(text.slice(0, MAX_CHARS));
  return { days, times, numbers: parseNumbers(rest) };
}

/**
 * Scores 1 if the answer contains every value of the gold answer that `requirements` selects, in any format. Additional
 * values in the answer are ignored. Applies to questions whose gold answer contains such a value.
 */
function containsAll(
  requirements: (gold: ParsedValues) => readonly IsInAnswer[],
  kind: string,
): { score: Scorer; appliesTo(question: ScorableQuestion): boolean } {
  return {
    score({ answer, task }) {
      const checks = requirements(parseValues(task.answer));
      if (checks.length === 0) return { value: null, explanation: `the gold answer contains no ${kind}` };
      const values = parseValues(answer ?? "");
      return { value: checks.every((isInAnswer) => isInAnswer(values)) ? 1 : 0 };
    },
    appliesTo: ({ goldAnswer }) => requirements(parseValues(goldAnswer)).length > 0,
  };
}

function containsNumber({ values }: ParsedNumber, answer: ParsedValues): boolean {
  return (
    answer.numbers.some((number) => [...values].some((value) => number.values.has(value))) ||
    answer.times.some((time) => [...values].some((value) => time.has(minutesAfterMidnight(value)))) ||
    answer.days.some(({ year, day }) => (year !== null && values.has(year)) || (day !== null && values.has(day)))
  );
}

function containsTime(time: TimeOfDay, answer: ParsedValues): boolean {
  const isSame = (other: TimeOfDay) => [...other].some((minute) => time.has(minute));
  return (
    answer.times.some(isSame) ||
    answer.numbers.some(({ values }) => [...values].some((value) => time.has(minutesAfterMidnight(value))))
  );
}

/** Reads 1430 as a 24-hour time. Other numbers return -1 or more minutes than a day has, which match no time. */
function minutesAfterMidnight(value: number): number {
  const [hour, minute] = [Math.floor(value / 100), value % 100];
  return Number.isInteger(value) && value >= 100 && minute < 60 ? hour * 60 + minute : -1;
}

function numbersOf({ numbers }: ParsedValues): IsInAnswer[] {
  return numbers
    .filter(({ isPronoun }) => !isPronoun)
    .map((number) => (answer: ParsedValues) => containsNumber(number, answer));
}

function datesOf({ days, times }: ParsedValues): IsInAnswer[] {
  return [
    ...days.map((day) => (answer: ParsedValues) => answer.days.some((other) => matchesDay(day, other))),
    ...times.map((time) => (answer: ParsedValues) => containsTime(time, answer)),
  ];
}

export const numberMatch: ScorerEntry = {
  ...containsAll(numbersOf, "number"),
  label: "Numbers",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer contains every number of the gold answer, in any format ($1.5 million, 1,500,000). Measured only on questions whose gold answer contains a number.",
};

export const dateMatch: ScorerEntry = {
  ...containsAll(datesOf, "date or time"),
  label: "Dates and times",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer contains every date and time of day of the gold answer, in any format (9:30 am, 0930; May 5, 2001, 5/5/01). Measured only on questions whose gold answer contains one.",
};

/** Whether a text states a fact: its words in the same order, or all of its numbers and dates in any notation. */
export function statesFact(text: string, fact: string): boolean {
  if (plain(text).includes(plain(fact))) return true;
  const stated = parseValues(text);
  const needed = [...numbersOf(parseValues(fact)), ...datesOf(parseValues(fact))];
  return needed.length > 0 && needed.every((isStated) => isStated(stated));
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}
