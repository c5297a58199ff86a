import type { Trace } from "../../domain/runs/trace.js";
import type { NamedCounts } from "../../statistics/named-counts.js";
import type { Sample } from "./log-schema.js";

/** Inspect reads its letters as these numbers: correct, partly correct, incorrect, no answer. */
const LETTERS: Readonly<Record<string, number>> = { C: 1, P: 0.5, I: 0, N: 0 };

/** Scores that are numbers, letters or true and false. Others, such as lists, are left out and counted. */
export function toScores(scores: Sample["scores"], lacking: NamedCounts): Trace["scores"] {
  const numbers = Object.entries(scores ?? {}).flatMap(([name, { value, explanation }]) => {
    const number = numberOf(value);
    if (number === null) {
      lacking.add(`no number in the score ${name}`);
      return [];
    }
    return [[name, { value: number, ...(explanation == null ? {} : { explanation }) }] as const];
  });
  return Object.fromEntries(numbers);
}

function numberOf(value: unknown): number | null {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" && Object.hasOwn(LETTERS, value) ? (LETTERS[value] ?? null) : null;
}
