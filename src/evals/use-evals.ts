// Evals in use: opening them as scorers, correcting pass rates, activating and retiring versions.
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { JudgeOptions } from "../scoring/judge-settings.js";
import { clusteredRate, independentTrials } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { rateDespiteLabelErrors, wrongLabels } from "../statistics/label-errors.js";
import { predictionPoweredRate } from "../statistics/prediction-powered.js";
import { type Db, withStore } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import { JUDGED } from "../traces/metrics.js";
import type { RunLimits } from "../traces/run-settings.js";
import type { TaskResult } from "../traces/task-result.js";
import type { JudgeSettings } from "../traces/trace.js";
import { criterionFlag, OVERALL } from "./criteria.js";
import {
  type Agreement,
  callsModel,
  type EvalDefinition,
  type EvalScore,
  type EvaluatedTrace,
  evalOfScore,
  isEvalScore,
  isValidatedScore,
  type StoredEval,
  scoreNameOf,
  type ValidatedScore,
} from "./definition.js";
import { independentCounts } from "./error-free-rates.js";
import { type EvalOutcome, isPass } from "./eval-outcome.js";
import { type LabelSample, sampledUnseenLabels } from "./labels.js";
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
  evalOfJudge,
  findEval,
  getEval,
  latestTest,
  listEvals,
  type StoredEvalTest,
  setStatus,
  testedCriteria,
} from "./store.js";

/** An eval's pass rate on a run, and the eval's error rates. */
export interface PassRates {
  /** The observed rate. */
  readonly passRate: Estimate;
  /**
   * The rate corrected for the errors of the eval and of the labels that the newest test measured. Null if no test used
   * the current labels.
   */
  readonly corrected: Estimate | null;
  /** Estimated fraction of wrong labels, or null if unknown: no trace was labeled twice, or there is no test. */
  readonly labelErrors: number | null;
  /**
   * Number of labels among the traces that were drawn with a known probability and that the eval was not made from.
   * With at least MIN_LABELS_OF_RUN, the corrected rate is estimated from them and does not depend on the error rates
   * of the test. Otherwise 0.
   */
  readonly labelsOfRun: number;
  /** Whether these labels are weighted, because traces had different probabilities. */
  readonly isWeighted: boolean;
  /** Fraction of the good traces that the eval fails, from its newest test. Null without a test. */
  readonly falseAlarms: Estimate | null;
}

/** Evals that score traces. */
export interface ScoringEvals {
  readonly definitions: readonly EvalDefinition[];
  /** Returns one outcome per eval for each trace. A failure is also an outcome. Throws only the signal's reason. */
  run(traces: readonly EvaluatedTrace[], signal: AbortSignal): Promise<readonly (readonly EvalOutcome[])[]>;
}

/** The part of a run that eval lookups need. */
interface ScoredRun {
  readonly settings: { readonly scorers: readonly string[]; readonly judge: JudgeSettings | null };
}

/** A version of an eval with its newest test, or null if it was never tested. */
export interface DescribedEval {
  readonly stored: StoredEval;
  readonly test: StoredEvalTest | null;
}

/** The errors of an eval from its newest test, and labels that it can be compared with. */
export interface MeasuredErrors {
  readonly agreement: Agreement;
  readonly labels: LabelSample;
}

interface ActivatedEval {
  readonly stored: StoredEval;
  /** The replaced version, or null if none was in use. */
  readonly former: StoredEval | null;
}

/** Fewer labels of a run say less about it than the error rates of a test. */
export const MIN_LABELS_OF_RUN = 20;

/** Collects the scores of one eval on a run. Tasks without a score are left out. */
export class PassTally {
  private readonly trials: { readonly success: boolean; readonly cluster: string; readonly traceId: string }[] = [];

  /** Collects a score of a run's results. */
  static of(score: string, results: Iterable<Pick<TaskResult, "taskId" | "traceId" | "scores">>): PassTally {
    const passes = new PassTally();
    for (const { taskId, traceId, scores } of results) {
      const value = scores[score] ?? null;
      if (value !== null) passes.add(taskId, value, traceId);
    }
    return passes;
  }

  /** Adds a score. Scores with the same `question` are dependent. */
  add(question: TaskId, score: number, traceId: string): void {
    this.trials.push({ success: isPass(score), cluster: JSON.stringify(question), traceId });
  }

  get passed(): number {
    return this.trials.filter(({ success }) => success).length;
  }

  get failed(): number {
    return this.trials.length - this.passed;
  }

  /**
   * @param agreement from the newest test of the version that scored the run, or null if it was not tested
   * @param labels labels that represent the traces and that the eval was not made from
   */
  figures(agreement: Agreement | null, labels: LabelSample): PassRates {
    const passRate = clusteredRate(this.trials);
    const none = { passRate, corrected: null, falseAlarms: null, labelErrors: null, labelsOfRun: 0, isWeighted: false };
    if (agreement === null) return none;
    const { falseFailureRate, labelPairs: pairs = null } = agreement;
    const ofRun = this.trials.flatMap(({ traceId }) => labels.get(traceId) ?? []);
    const isLabeled = ofRun.length >= MIN_LABELS_OF_RUN;
    const corrected = isLabeled
      ? predictionPoweredRate(
          this.trials.map(({ success, cluster, traceId }) => {
            const { isGood: good = null, weight = 1 } = labels.get(traceId) ?? {};
            return { passed: success, good, weight, cluster };
          }),
          pairs,
        )
      : rateDespiteLabelErrors(independentTrials(passRate), independentCounts(agreement), pairs);
    return {
      passRate,
      corrected: { ...corrected, n: passRate.n },
      falseAlarms: falseFailureRate,
      labelErrors: wrongLabels(pairs),
      labelsOfRun: isLabeled ? ofRun.length : 0,
      isWeighted: isLabeled && ofRun.some(({ weight }) => weight !== 1),
    };
  }
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

/**
 * Returns the version of an eval that scored a run, with its newest test: the recorded version, otherwise the newest
 * one. For `judgeCorrect`, returns the eval of the run's judge. Returns null if the database does not contain the eval.
 */
export function describedEvalOfRun(db: Db, score: ValidatedScore, run: ScoredRun | null): DescribedEval | null {
  const stored = score === JUDGED ? judgeOf(db, run) : versionOf(db, score, run);
  return stored === null ? null : describeStored(db, stored);
}

function judgeOf(db: Db, run: ScoredRun | null): StoredEval | null {
  const judge = run?.settings.judge ?? null;
  return judge === null ? null : evalOfJudge(db, judge);
}

function versionOf(db: Db, score: EvalScore, run: ScoredRun | null): StoredEval | null {
  const onRecord = run?.settings.scorers.filter(isEvalScore).find((name) => name.startsWith(`${score}@`));
  return findEval(db, evalOfScore(onRecord ?? score));
}

/** Opens evals by name: the specified version, otherwise the one in use. Throws if a name occurs twice. */
export function openEvals(db: Db, names: readonly string[]): StoredEval[] {
  const evals = names.map((name) => (name.includes("@") ? getEval(db, name) : inUse(db, name)));
  const used = new Set<string>();
  for (const { definition } of evals) {
    if (used.has(definition.name)) {
      throw new UserError(
        "eval_repeated",
        `The eval ${definition.name} is specified twice.`,
        "Specify only one version of each eval.",
      );
    }
    used.add(definition.name);
  }
  return evals;
}

/** Replaces `--judge eval:NAME` by the judge of that eval: the specified version, otherwise the one in use. */
export function withJudgeOfEval<T extends JudgeOptions>(db: Db, options: T): T {
  const { judge } = options;
  if (judge === undefined || !isEvalScore(judge)) return options;
  const name = evalOfScore(judge);
  const { definition } = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
  if (definition.kind !== "judge") {
    throw new UserError(
      "judge_unknown",
      `--judge ${judge}: the eval is not a judge.`,
      "Pass the name of an eval from art-e evals add NAME --judge MODEL.",
    );
  }
  return { ...options, judge: undefined, judgeOfEval: definition.judge };
}

function inUse(db: Db, name: string): StoredEval {
  const active = activeEval(db, name);
  if (active !== null) return active;
  const { definition } = getEval(db, name);
  throw new UserError(
    "eval_inactive",
    `Cannot run the eval ${name}: no version is in use.`,
    `Activate one (${commandLine`art-e evals use ${name}`}), or specify a version: ${name}@${definition.version}.`,
  );
}

/** Lists all versions of all evals, optionally including retired ones. */
export function describeEvals(withRetired: boolean, settings: AppSettings): Promise<DescribedEval[]> {
  return withStore(settings, (db) =>
    listEvals(db)
      .filter(({ status }) => withRetired || status !== "retired")
      .map((stored) => describeStored(db, stored)),
  );
}

/** Returns one version and all versions of the same name. */
export function describeEval(
  name: string,
  settings: AppSettings,
): Promise<DescribedEval & { readonly versions: readonly DescribedEval[] }> {
  return withStore(settings, (db) => {
    const stored = getEval(db, name);
    const versions = listEvals(db, stored.definition.name).map((version) => describeStored(db, version));
    return { ...describeStored(db, stored), versions };
  });
}

/** Returns all versions of an eval, each with all of its tests. */
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
 * Returns the agreement from an eval's newest test and the drawn labels of its criterion, for correcting a rate. Uses
 * the version recorded for the run, otherwise the version in use. Throws a UserError if it has no test, or if the
 * test's labels have changed.
 */
export function agreementFor(db: Db, score: ValidatedScore, run: ScoredRun | null): MeasuredErrors {
  const active = run === null && score !== JUDGED ? activeEval(db, evalOfScore(score)) : null;
  const described = active === null ? describedEvalOfRun(db, score, run) : describeStored(db, active);
  const errors = measuredErrors(db, described);
  if (errors !== null) return errors;
  if (score === JUDGED && described === null) {
    throw new UserError(
      "eval_uncorrected",
      "Cannot correct judgeCorrect: the database does not contain an eval of the run's judge.",
      `Add and test it: ${commandLine`art-e evals add judge --judge RUN`}, ${commandLine`art-e evals test judge`}`,
    );
  }
  const name = described?.stored.definition.name ?? evalOfScore(score as EvalScore);
  throw new UserError(
    "eval_uncorrected",
    `Cannot correct the pass rate of ${name}: ${described?.test ? "its test is stale" : "it was never tested"}.`,
    `Test it (${commandLine`art-e evals test ${name}`}${criterionFlag(described?.test?.report.criterion ?? OVERALL)}), or import an eval file that contains the test.`,
  );
}

/** Returns the errors of an eval, or null if no test used the current labels. */
export function measuredErrors(db: Db, described: DescribedEval | null): MeasuredErrors | null {
  if (described?.test?.isStale !== false) return null;
  const { agreement, criterion } = described.test.report;
  return { agreement, labels: sampledUnseenLabels(db, criterion, described.stored) };
}

/** Returns the corrected rates of the scores of a run whose eval was tested on the current labels. */
export function correctedRates(
  db: Db,
  run: ScoredRun,
  scores: readonly string[],
  results: () => Iterable<Pick<TaskResult, "taskId" | "traceId" | "scores">>,
): ReadonlyMap<string, Estimate> {
  const measured = scores.filter(isValidatedScore).flatMap((score) => {
    const errors = measuredErrors(db, describedEvalOfRun(db, score, run));
    return errors === null ? [] : [{ score, ...errors }];
  });
  const rates = new Map<string, Estimate>();
  for (const { score, agreement, labels } of measured) {
    const { corrected } = PassTally.of(score, results()).figures(agreement, labels);
    if (corrected !== null) rates.set(score, corrected);
  }
  return rates;
}

/** Returns a version with its newest test. */
export function describeStored(db: Db, stored: StoredEval): DescribedEval {
  return { stored, test: latestTest(db, stored) };
}

/** Activates a version. Requires a passed test unless `anyway` is set. Regression cases do not need a test. */
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
        "Specify the criterion to use it for: --criterion NAME.",
      );
    }
    const validatedFor = criterion ?? (tested.length === 1 ? (tested[0] ?? null) : null);
    const test = latestTest(db, stored, validatedFor);
    if (!anyway && definition.kind !== "cases") {
      if (test === null) {
        throw new UserError(
          "eval_untested",
          `Cannot activate ${label}: it was never tested on held-out labels.`,
          `Test it: ${commandLine`art-e evals test ${label}`}${criterionFlag(criterion ?? OVERALL)}. Or activate it anyway: --anyway.`,
        );
      }
      if (test.isStale) {
        throw new UserError(
          "eval_stale",
          `Cannot activate ${label}: its held-out labels for ${test.report.criterion} have changed since the test.`,
          `Test it again: ${commandLine`art-e evals test ${label} --criterion ${test.report.criterion}`}. Or activate it anyway: --anyway.`,
        );
      }
      if (test.report.rejections.length > 0) {
        throw new UserError(
          "eval_rejected",
          `Cannot activate ${label}, which its test rejected: ${test.report.rejections.join("; ")}.`,
          `Review its contradictions (${commandLine`art-e evals review ${definition.name} --criterion ${test.report.criterion}`}), or activate it anyway: --anyway.`,
        );
      }
    }
    const former = activeEval(db, definition.name);
    activateEval(db, stored, validatedFor);
    return { stored: getEval(db, label), former: former?.id === stored.id ? null : former };
  });
}

/** Retires a version: the specified one, otherwise the one in use. */
export function retireEval(name: string, settings: AppSettings): Promise<StoredEval> {
  return withStore(settings, (db) => {
    const stored = (name.includes("@") ? null : activeEval(db, name)) ?? getEval(db, name);
    setStatus(db, stored.id, "retired");
    return { ...stored, status: "retired" };
  });
}
