import type { JsonObject } from "../../domain/json.js";
import type { Verdict } from "../../domain/scores/judgement.js";
import type { ExportContext, ExportedTrace } from "../trace-format.js";

/** Letters that the viewer colours; as numbers Inspect reads C as 1, P as 0.5, and I and N as 0. */
const LETTERS: Readonly<Record<Verdict, string>> = { correct: "C", partly: "P", wrong: "I", abstained: "N" };

/** Scores by scorer; one without a value is left out, as Inspect knows no null. */
export function inspectScores(trace: ExportedTrace, context: ExportContext): Record<string, JsonObject> {
  const scores = Object.entries(trace.scores).flatMap(([scorer, { value, explanation }]) => {
    if (value === null) return [];
    const score = {
      value: scoreValue(scorer, value, trace, context),
      ...(trace.answer === null ? {} : { answer: trace.answer }),
      ...(explanation === undefined ? {} : { explanation }),
      history: [],
    };
    return [[scorer, score] as const];
  });
  return Object.fromEntries(scores);
}

/** A rate of which 1 is good is C or I, and the judge's score its verdict. */
function scoreValue(scorer: string, value: number, trace: ExportedTrace, { scorers }: ExportContext): string | number {
  const verdict = "judge" in trace ? trace.judge?.verdict : null;
  if (scorer === "judgeScore" && verdict) return LETTERS[verdict];
  const entry = Object.hasOwn(scorers, scorer) ? scorers[scorer] : undefined;
  if (entry?.kind !== "rate" || entry.better !== "higher") return value;
  return value === 1 ? "C" : value === 0 ? "I" : value;
}
