import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { clusteredRate, correctedRate, independentTrials } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { type Db, withStore } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import type { RunLimits } from "../traces/run-settings.js";
import {
  type Agreement,
  type EvalDefinition,
  type EvalScore,
  type EvaluatedTrace,
  evalOfScore,
  isEvalScore,
  type StoredEval,
  scoreNameOf,
} from "./definition.js";
import { type EvalOutcome, isPass } from "./eval-outcome.js";
import {
  BACKENDS_WITHOUT_MODELS,
  type EvalBackends,
  openEvalBackends,
  requireRunnable,
  runEvals,
} from "./run-evals.js";
import {
  activateEval,
  activeEval,
  allTests,
  findEval,
  getEval,
  latestTest,
  listEvals,
  type StoredEvalTest,
  setStatus,
  testedCriteria,
} from "./store.js";

/** What an eval says of a run, and what that is worth. */
export interface PassRates {
  /** As observed. */
  readonly passRate: Estimate;
  /** As it would be without the errors that the newest test measured; null without a test whose labels still stand. */
  readonly corrected: Estimate | null;
  /** Share of the good traces that it fails, by its newest test; null without one. */
  readonly falseAlarms: Estimate | null;
}

/** The scores that an eval gave the tasks of a run, those without one left out. */
export class PassTally {
  private readonly trials: { readonly success: boolean; readonly cluster: string }[] = [];

  /** `question`: scores of one are dependent. */
  add(question: TaskId, score: number): void {
    this.trials.push({ success: isPass(score), cluster: JSON.stringify(question) });
  }

  get passed(): number {
    return this.trials.filter(({ success }) => success).length;
  }

  get failed(): number {
    return this.trials.length - this.passed;
  }

  /** `agreement`: of the newest test of the version that gave the scores; null: there is none. */
  figures(agreement: Agreement | null): PassRates {
    const passRate = clusteredRate(this.trials);
    if (agreement === null) return { passRate, corrected: null, falseAlarms: null };
    const { truePositiveRate, trueNegativeRate, falseFailureRate } = agreement;
    const corrected = correctedRate(
      independentTrials(passRate),
      independentTrials(truePositiveRate),
      independentTrials(trueNegativeRate),
    );
    return { passRate, corrected: { ...corrected, n: passRate.n }, falseAlarms: falseFailureRate };
  }
}

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
    `Run it afterwards: ${commandLine`art-e evals run ${rubric.name}`}`,
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

/** What is read of a run that was scored. */
interface ScoredRun {
  readonly settings: { readonly scorers: readonly string[] };
}

/**
 * The version of an eval that a run's scores are of, with its newest test: the version on record, else the newest one.
 * Null: there is none of this name here.
 */
export function describedEvalOfRun(db: Db, score: EvalScore, run: ScoredRun | null): DescribedEval | null {
  const onRecord = run?.settings.scorers.filter(isEvalScore).find((name) => name.startsWith(`${score}@`));
  const stored = findEval(db, evalOfScore(onRecord ?? score));
  return stored === null ? null : withLatestTest(db, stored);
}

/** The evals of these names: the version that is named, else the one in use. Each name once. */
export function openEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = names.map((name) => (name.includes("@") ? getEval(db, name) : inUse(db, name)));
  const used = new Set<string>();
  for (const { definition } of evals) {
    if (used.has(definition.name)) {
      throw new UserError(
        "eval_twice",
        `The eval ${definition.name} is named twice.`,
        "One version of a name at a time.",
      );
    }
    used.add(definition.name);
  }
  return evals;
}

function inUse(db: Db, name: string): StoredEval {
  const active = activeEval(db, name);
  if (active !== null) return active;
  const { definition } = getEval(db, name);
  throw new UserError(
    "eval_inactive",
    `No version of the eval ${name} is in use.`,
    `Put one into use (${commandLine`art-e evals use ${name}`}), or name a version: ${name}@${definition.version}.`,
  );
}

/** A version of an eval with its newest test; null: it was never tested. */
export interface DescribedEval {
  readonly stored: StoredEval;
  readonly test: StoredEvalTest | null;
}

/** All versions of all evals; or without retired ones. */
export function describeEvals(withRetired: boolean, settings: AppSettings): Promise<DescribedEval[]> {
  return withStore(settings, (db) =>
    listEvals(db)
      .filter(({ status }) => withRetired || status !== "retired")
      .map((stored) => withLatestTest(db, stored)),
  );
}

/** One version, and all versions of its name. */
export function describeEval(
  name: string,
  settings: AppSettings,
): Promise<DescribedEval & { readonly versions: readonly DescribedEval[] }> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    const versions = listEvals(db, stored.definition.name).map((version) => withLatestTest(db, version));
    return { ...withLatestTest(db, stored), versions };
  });
}

/** The versions of a name, each with all of its tests. */
export function evalHistory(
  name: string,
  settings: AppSettings,
): Promise<readonly { readonly stored: StoredEval; readonly tests: readonly StoredEvalTest[] }[]> {
  return withStore(settings, (db) => {
    const { definition } = getEval(db, name);
    return listEvals(db, definition.name).map((stored) => ({ stored, tests: allTests(db, stored) }));
  });
}

/**
 * What the newest test of an eval found, by which a rate is corrected: of the version on record for a run, else of the
 * one in use. Throws a UserError where there is none, or its labels have changed.
 */
export function agreementFor(db: Db, score: EvalScore, run: ScoredRun | null): Agreement {
  const active = run === null ? activeEval(db, evalOfScore(score)) : null;
  const described = active === null ? describedEvalOfRun(db, score, run) : withLatestTest(db, active);
  if (described?.test?.isStale === false) return described.test.report.agreement;
  const name = evalOfScore(score);
  throw new UserError(
    "eval_uncorrected",
    `The pass rate of ${name} cannot be corrected: ${described?.test ? "its test is stale" : "it was never tested"}.`,
    `Test it (${commandLine`art-e evals test ${name}`}), or import its file with the test in it.`,
  );
}

function withLatestTest(db: Db, stored: StoredEval): DescribedEval {
  return { stored, test: latestTest(db, stored) };
}

interface ActivatedEval {
  readonly stored: StoredEval;
  /** The version that it replaces; null: none was in use. */
  readonly former: StoredEval | null;
}

/** Puts a version into use. Refused without a passed test, unless `anyway`; cases are right as they are. */
export function useEval(
  {
    name,
    anyway,
    criterion,
  }: { readonly name: string; readonly anyway: boolean; readonly criterion?: string | undefined },
  settings: AppSettings,
): Promise<ActivatedEval> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    const { definition } = stored;
    const label = `${definition.name}@${definition.version}`;
    const tested = testedCriteria(db, stored);
    if (criterion === undefined && tested.length > 1 && !anyway) {
      throw new UserError(
        "criterion_missing",
        `${label} was tested for ${tested.join(" and ")}.`,
        "Say what it is used for: --criterion NAME.",
      );
    }
    const validatedFor = criterion ?? (tested.length === 1 ? (tested[0] ?? null) : null);
    const test = latestTest(db, stored, validatedFor);
    if (!anyway && definition.kind !== "cases") {
      if (test === null) {
        throw new UserError(
          "eval_untested",
          `${label} was never tested on labels it has not seen.`,
          `Test it: ${commandLine`art-e evals test ${label}`}. Or use it all the same with --anyway.`,
        );
      }
      if (test.isStale) {
        throw new UserError(
          "eval_stale",
          `The held-out labels that ${label} was tested on for ${test.report.criterion} have changed since.`,
          `Test it again: ${commandLine`art-e evals test ${label} --criterion ${test.report.criterion}`}. Or use it all the same with --anyway.`,
        );
      }
      if (test.report.rejections.length > 0) {
        throw new UserError(
          "eval_rejected",
          `${label} was rejected: ${test.report.rejections.join("; ")}.`,
          `Refine it (${commandLine`art-e evals refine ${definition.name}`}), or use it all the same with --anyway.`,
        );
      }
    }
    const former = activeEval(db, definition.name);
    activateEval(db, stored, validatedFor);
    return { stored: getEval(db, label), former: former?.id === stored.id ? null : former };
  });
}

/** Takes a version out of use: the one named, else the active one of the name. */
export function retireEval(name: string, settings: AppSettings): Promise<StoredEval> {
  return withStore(settings, (db) => {
    const stored = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
    setStatus(db, stored.id, "retired");
    return { ...stored, status: "retired" };
  });
}
