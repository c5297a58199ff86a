import { UserError } from "../../domain/errors.js";
import type { EvalDefinition, StoredEval } from "../../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import { type EvalScore, evalOfScore, isEvalScore, scoreNameOf } from "../../domain/evals/score-names.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import { type EvalBackends, runEvals } from "../../evalgen/run-evals.js";
import type { Db } from "../../store/connection/open-store.js";
import { findEval } from "../../store/evals/evals.js";
import type { RunRow } from "../../store/runs/runs.js";
import type { AppSettings } from "../use-case-context.js";
import { BACKENDS_WITHOUT_MODELS, openEvalBackends, requireRunnable } from "./backends/eval-backends.js";
import { type DescribedEval, withLatestTest } from "./manage-evals.js";
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
  return scoringEvals(evalDefinitions(db, scorers), openEvalBackends(settings));
}

function evalDefinitions(db: Db, scorers: readonly string[]): EvalDefinition[] {
  return openEvals(db, scorers.filter(isEvalScore).map(evalOfScore)).map(({ definition }) => definition);
}

/** Those of these evals that ask no model: nobody agreed to what a rubric costs. */
export function evalsWithoutModels(evals: readonly StoredEval[]): ScoringEvals {
  const definitions = evals.map(({ definition }) => definition).filter(({ kind }) => kind !== "rubric");
  return scoringEvals(definitions, BACKENDS_WITHOUT_MODELS);
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
  const definitions = evalDefinitions(db, scorers);
  await requireRunnable(definitions, settings);
  return withVersions(
    scorers.filter((name) => !isEvalScore(name)),
    definitions,
  );
}

/** The scorers of a run with these evals, in the place of other versions of them. */
export function withVersions(scorers: readonly string[], evals: readonly EvalDefinition[]): string[] {
  const names = new Set<string>(evals.map(scoreNameOf));
  const others = scorers.filter((name) => !names.has(name.split("@")[0] ?? ""));
  return [...others, ...evals.map((definition) => `${scoreNameOf(definition)}@${definition.version}`)];
}

/**
 * The version of an eval that a run's scores are of, with its newest test: the version on record, else the newest one.
 * Null: there is none of this name here.
 */
export function describedEvalOfRun(
  db: Db,
  score: EvalScore,
  { settings }: Pick<RunRow, "settings">,
): DescribedEval | null {
  const onRecord = settings.scorers.filter(isEvalScore).find((name) => name.startsWith(`${score}@`));
  const stored = findEval(db, evalOfScore(onRecord ?? score));
  return stored === null ? null : withLatestTest(db, stored);
}
