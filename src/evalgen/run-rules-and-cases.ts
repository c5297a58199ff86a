import type { DataEval } from "../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { runCases } from "./run-cases.js";
import { runRules } from "./run-rules.js";
import { type VisibleTrace, viewOf } from "./visible-trace.js";

/** Runs rules and cases over one trace, which is prepared once for all of them. */
export function runRulesAndCases(definitions: readonly DataEval[], trace: EvaluatedTrace): EvalOutcome[] {
  const view = viewOf(trace);
  return definitions.map((definition) => runOne(definition, trace, view));
}

function runOne(definition: DataEval, trace: EvaluatedTrace, view: VisibleTrace): EvalOutcome {
  try {
    return definition.kind === "rules" ? runRules(definition, view) : runCases(definition, trace);
  } catch (error) {
    // An eval of a later version, or an odd trace: neither may cost a run or a chat its result.
    return { score: null, reason: "", error: error instanceof Error ? error.message : String(error) };
  }
}
