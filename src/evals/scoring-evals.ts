// Evals as scorers of a run, and an eval as its judge.
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { JudgeOptions } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import type { RunLimits } from "../traces/run-settings.js";
import {
  callsModel,
  type EvalDefinition,
  type EvaluatedTrace,
  evalOfScore,
  isEvalScore,
  type StoredEval,
  scoreNameOf,
} from "./definition.js";
import type { EvalOutcome } from "./eval-outcome.js";
import {
  BACKENDS_WITHOUT_MODELS,
  type EvalBackends,
  openEvalBackends,
  requireRunnable,
  runEvals,
} from "./run-evals.js";
import { activeEval, getEval } from "./store.js";
import { openEvals } from "./use-evals.js";

/** Evals that score traces. */
export interface ScoringEvals {
  readonly definitions: readonly EvalDefinition[];
  /** Returns one outcome per eval for each trace. A failure is also an outcome. Throws only the signal's reason. */
  run(traces: readonly EvaluatedTrace[], signal: AbortSignal): Promise<readonly (readonly EvalOutcome[])[]>;
}

export const NO_EVALS: ScoringEvals = { definitions: [], run: async () => [] };

/** Returns the evals among the scorers of a run. */
export function evalsAmong(db: Db, scorers: readonly string[], settings: AppSettings): ScoringEvals {
  return scoringEvals(evalDefinitions(db, scorers), openEvalBackends(settings));
}

function evalDefinitions(db: Db, scorers: readonly string[]): EvalDefinition[] {
  return openEvals(db, scorers.filter(isEvalScore).map(evalOfScore)).map(({ definition }) => definition);
}

/** Returns the evals that do not call a model. Used if the user has not agreed to the cost of models. */
export function evalsWithoutModels(evals: readonly StoredEval[]): ScoringEvals {
  const definitions = evals.map(({ definition }) => definition).filter((definition) => !callsModel(definition));
  return scoringEvals(definitions, BACKENDS_WITHOUT_MODELS);
}

export function scoringEvals(definitions: readonly EvalDefinition[], backends: EvalBackends): ScoringEvals {
  return {
    definitions,
    run: async (traces, signal) => (definitions.length === 0 ? [] : runEvals(definitions, traces, backends, signal)),
  };
}

/** Throws if a cost limit is set and an eval calls a model, because no task result contains the cost of these calls. */
export function refuseUncountedRubrics({ definitions }: ScoringEvals, { maxCostUsd }: RunLimits): void {
  const costly = definitions.find(callsModel);
  if (costly === undefined || maxCostUsd === null) return;
  throw new UserError(
    "rubric_uncounted",
    `--max-cost cannot be combined with the ${costly.kind} ${costly.name}: the run does not count the cost of its model.`,
    `Run the eval afterwards: ${commandLine`art-e evals run ${costly.name}`}`,
  );
}

/**
 * Adds the version to each eval among the scorers, so that a resumed run is scored by the same versions. Throws if this
 * machine cannot run one of the evals.
 */
export async function pinEvals(db: Db, scorers: readonly string[], settings: AppSettings): Promise<string[]> {
  const definitions = evalDefinitions(db, scorers);
  await requireRunnable(definitions, settings);
  return withVersions(
    scorers.filter((name) => !isEvalScore(name)),
    definitions,
  );
}

/** Replaces the versions of these evals among the scorers with the given ones. */
export function withVersions(scorers: readonly string[], evals: readonly EvalDefinition[]): string[] {
  const names = new Set<string>(evals.map(scoreNameOf));
  const others = scorers.filter((name) => !names.has(name.split("@")[0] ?? ""));
  return [...others, ...evals.map((definition) => `${scoreNameOf(definition)}@${definition.version}`)];
}

/** Replaces `--judge eval:NAME` by the judge of that eval: the specified version, otherwise the active one. */
export function withJudgeOfEval<T extends JudgeOptions>(db: Db, options: T): T {
  const { judge } = options;
  if (judge === undefined || !isEvalScore(judge)) return options;
  const name = evalOfScore(judge);
  const { definition } = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
  if (definition.kind !== "judge") {
    throw new UserError(
      "judge_unknown",
      `--judge ${judge}: the eval is not a judge.`,
      `Pass the name of an eval from ${commandLine`art-e evals add NAME --judge MODEL`}.`,
    );
  }
  return { ...options, judge: undefined, judgeOfEval: definition.judge };
}
