import { performance } from "node:perf_hooks";
import { type DataEval, type EvalDefinition, type EvalOf, isDataEval } from "../domain/evals/eval-definition.js";
import type { MeasuredOutcome } from "../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { runRulesAndCases } from "./run-rules-and-cases.js";

/** What is read of an eval of one kind that needs more than this process. */
export interface BackendInput {
  readonly python: Pick<EvalOf<"python">, "code" | "reference">;
  readonly rubric: Pick<EvalOf<"rubric">, "rubric" | "model">;
}

/** Runs an eval of one kind over traces; an outcome for each. Throws only the signal's reason. */
export type EvalBackend<K extends keyof BackendInput> = (
  definition: BackendInput[K],
  traces: readonly EvaluatedTrace[],
  signal: AbortSignal,
) => Promise<MeasuredOutcome[]>;

/** What runs the kinds of evals that need more than this process. */
export interface EvalBackends {
  readonly python: EvalBackend<"python">;
  readonly rubric: EvalBackend<"rubric">;
}

/** Runs evals over traces: an outcome for each trace, of each eval in order. */
export async function runEvals(
  definitions: readonly EvalDefinition[],
  traces: readonly EvaluatedTrace[],
  backends: EvalBackends,
  signal: AbortSignal,
): Promise<MeasuredOutcome[][]> {
  const columns = new Map<EvalDefinition, readonly MeasuredOutcome[]>();
  for (const definition of definitions) {
    if (definition.kind === "python") columns.set(definition, await backends.python(definition, traces, signal));
    if (definition.kind === "rubric") columns.set(definition, await backends.rubric(definition, traces, signal));
  }
  const data = definitions.filter(isDataEval);
  return traces.map((trace, i) => {
    const ofData = data.length === 0 ? [] : runMeasured(data, trace);
    return definitions.flatMap((definition) => columns.get(definition)?.[i] ?? ofData.shift() ?? []);
  });
}

function runMeasured(definitions: readonly DataEval[], trace: EvaluatedTrace): MeasuredOutcome[] {
  const start = performance.now();
  const outcomes = runRulesAndCases(definitions, trace);
  const ms = (performance.now() - start) / definitions.length;
  return outcomes.map((outcome) => ({ ...outcome, ms, costUsd: 0 }));
}
