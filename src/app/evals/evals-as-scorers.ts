import { UserError } from "../../domain/errors.js";
import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import { evalOfScore, isEvalScore, scoreNameOf } from "../../domain/evals/score-names.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import { type EvalBackends, runEvals } from "../../evalgen/run-evals.js";
import type { Db } from "../../store/connection/open-store.js";
import type { AppSettings } from "../use-case-context.js";
import { openEvalBackends, requireRunnable } from "./backends/eval-backends.js";
import { openEvals } from "./open-evals.js";

/** Evals that score traces. */
export interface ScoringEvals {
  readonly definitions: readonly EvalDefinition[];
  /** For each trace an outcome of each eval. What fails is an outcome too; throws only the signal's reason. */
  run(traces: readonly EvaluatedTrace[], signal: AbortSignal): Promise<readonly (readonly EvalOutcome[])[]>;
}

export const NO_EVALS: ScoringEvals = { definitions: [], run: async () => [] };

/** The evals among these scorers. */
export function evalsAmong(db: Db, scorers: readonly string[], settings: AppSettings): ScoringEvals {
  const evals = openEvals(db, scorers.filter(isEvalScore).map(evalOfScore));
  return scoringEvals(
    evals.map(({ definition }) => definition),
    openEvalBackends(settings),
  );
}

export function scoringEvals(definitions: readonly EvalDefinition[], backends: EvalBackends): ScoringEvals {
  return {
    definitions,
    run: async (traces, signal) => (definitions.length === 0 ? [] : runEvals(definitions, traces, backends, signal)),
  };
}

/** Refuses a limit in dollars where a rubric is among the evals: what its model costs stands in no task's result. */
export function refuseUncountedRubrics({ definitions }: ScoringEvals, { maxCostUsd }: RunLimits): void {
  const rubric = definitions.find(({ kind }) => kind === "rubric");
  if (rubric === undefined || maxCostUsd === null) return;
  throw new UserError(
    "rubric_uncounted",
    `--max-cost cannot be kept: the eval ${rubric.name} is a rubric, and the run does not count what its model costs.`,
    `Run it afterwards: art-e evals run ${rubric.name}.`,
  );
}

/**
 * With the version of each eval, so that a run that goes on later is scored by the same. Throws where this machine
 * cannot run one of them.
 */
export async function pinEvals(db: Db, scorers: readonly string[], settings: AppSettings): Promise<string[]> {
  const { definitions } = evalsAmong(db, scorers, settings);
  await requireRunnable(definitions, settings);
  const pinned = definitions.map((definition) => `${scoreNameOf(definition)}@${definition.version}`);
  return [...scorers.filter((name) => !isEvalScore(name)), ...pinned];
}
