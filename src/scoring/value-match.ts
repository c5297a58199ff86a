import type { ScorableQuestion, Scorer, ScorerEntry } from "../domain/scores/score.js";
import { type CalendarDay, momentsIn, saysDay, type TimeOfDay } from "./parse-dates.js";
import { type Quantity, quantitiesIn } from "./parse-numbers.js";

interface Values {
  readonly days: readonly CalendarDay[];
  readonly times: readonly TimeOfDay[];
  readonly quantities: readonly Quantity[];
}

/** What is read of a text: each value of one is held against each of the other. */
const MAX_CHARS = 20_000;

function valuesIn(whole: string): Values {
  const text = whole.slice(0, MAX_CHARS);
  const { days, times, rest } = momentsIn(text);
  return { days, times, quantities: quantitiesIn(rest) };
}

/** Whether an answer holds one value of the gold answer. */
type IsSaid = (answer: Values) => boolean;

/**
 * 1 where the answer holds every value of the gold answer that `wanted` picks, however written; more of them in the answer do
 * no harm. Applies to the questions whose gold answer holds one.
 */
function allSaid(
  wanted: (gold: Values) => readonly IsSaid[],
  what: string,
): { score: Scorer; appliesTo(question: ScorableQuestion): boolean } {
  return {
    score({ answer, task }) {
      const values = wanted(valuesIn(task.answer));
      if (values.length === 0) return { value: null, explanation: `the gold answer holds no ${what}` };
      const said = valuesIn(answer ?? "");
      return { value: values.every((isSaid) => isSaid(said)) ? 1 : 0 };
    },
    appliesTo: ({ goldAnswer }) => wanted(valuesIn(goldAnswer)).length > 0,
  };
}

function saysQuantity({ values }: Quantity, answer: Values): boolean {
  return (
    answer.quantities.some((said) => [...values].some((value) => said.values.has(value))) ||
    answer.times.some((time) => [...values].some((value) => time.has(asClock(value)))) ||
    answer.days.some(({ year, day }) => (year !== null && values.has(year)) || (day !== null && values.has(day)))
  );
}

function saysTime(time: TimeOfDay, answer: Values): boolean {
  const same = (said: TimeOfDay) => [...said].some((minute) => time.has(minute));
  return (
    answer.times.some(same) ||
    answer.quantities.some(({ values }) => [...values].some((value) => time.has(asClock(value))))
  );
}

/** 1430 as minutes after midnight; -1, which no time has, where it is no time. */
function asClock(value: number): number {
  const [hour, minute] = [Math.floor(value / 100), value % 100];
  return Number.isInteger(value) && value >= 100 && hour < 24 && minute < 60 ? hour * 60 + minute : -1;
}

export const numberMatch: ScorerEntry = {
  ...allSaid(
    (gold) =>
      gold.quantities.filter(({ weak }) => !weak).map((quantity) => (answer: Values) => saysQuantity(quantity, answer)),
    "number",
  ),
  label: "Numbers",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer holds every number of the gold answer, however written ($1.5 million, 1,500,000); over the questions whose gold answer holds one.",
};

export const dateMatch: ScorerEntry = {
  ...allSaid(
    (gold) => [
      ...gold.days.map((day) => (answer: Values) => answer.days.some((said) => saysDay(day, said))),
      ...gold.times.map((time) => (answer: Values) => saysTime(time, answer)),
    ],
    "date or time",
  ),
  label: "Dates and times",
  kind: "rate",
  better: "higher",
  meaning:
    "The answer holds every date and time of day of the gold answer, however written (9:30 am, 0930; May 5, 2001, 5/5/01); over the questions whose gold answer holds one.",
};
