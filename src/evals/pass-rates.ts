// Pass rates of evals on a run, corrected for the errors of the evals and of the labels.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { clusteredRate, independentTrials } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { rateDespiteLabelErrors } from "../statistics/label-errors.js";
import { predictionPoweredRate } from "../statistics/prediction-powered.js";
import type { Db } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import { JUDGED } from "../traces/headline-score.js";
import type { TaskResult } from "../traces/task-result.js";
import { modeFlag, OVERALL } from "./criteria.js";
import { type Agreement, type EvalScore, evalOfScore, isValidatedScore, type ValidatedScore } from "./definition.js";
import { type LabelSample, sampledUnseenLabels } from "./effective-labels.js";
import { isPass } from "./eval-outcome.js";
import { independentCounts, labelErrors } from "./label-error-correction.js";
import { activeEval } from "./store.js";
import { type DescribedEval, describedEvalOfRun, describeStored, type ScoredRun } from "./use-evals.js";

/** An eval's pass rate on a run, and the eval's error rates. */
export interface PassRates {
  /** The observed rate. */
  readonly passRate: Estimate;
  /**
   * The rate corrected for the errors of the eval and of the labels that the newest test measured. Null if no test used
   * the current labels.
   */
  readonly corrected: Estimate | null;
  /** Estimated fraction of wrong labels. Null without a test, or if too few traces were labeled twice. */
  readonly labelErrors: number | null;
  /**
   * Number of labels by people among the traces that were drawn with a known probability and that the eval was not made
   * from.
   * With at least MIN_LABELS_OF_RUN, the corrected rate is estimated from them and does not depend on the error rates
   * of the test. Otherwise 0.
   */
  readonly labelsOfRun: number;
  /** Whether these labels are weighted, because traces had different probabilities. */
  readonly isWeighted: boolean;
  /** Fraction of the good traces that the eval fails, from its newest test. Null without a test. */
  readonly falseFailureRate: Estimate | null;
}

/** The errors of an eval from its newest test, and labels that it can be compared with. */
export interface MeasuredErrors {
  readonly agreement: Agreement;
  /** Labels by people. */
  readonly labels: LabelSample;
  /**
   * Whether the eval passed or was rejected. The errors of a rejected eval are known, but it does not validate a run.
   */
  readonly validation: "passed" | "rejected";
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
    const none = {
      passRate,
      corrected: null,
      falseFailureRate: null,
      labelErrors: null,
      labelsOfRun: 0,
      isWeighted: false,
    };
    if (agreement === null) return none;
    const { falseFailureRate, labelPairs: pairs = null } = agreement;
    const ofRun = this.trials.flatMap(({ traceId }) => labels.get(traceId) ?? []);
    const isLabeled = ofRun.length >= MIN_LABELS_OF_RUN;
    const corrected = isLabeled
      ? predictionPoweredRate(
          this.trials.map(({ success, cluster, traceId }) => {
            const { isGood: good = null, ...drawn } = labels.get(traceId) ?? {};
            return { passed: success, good, ...drawn, cluster };
          }),
          pairs,
        )
      : rateDespiteLabelErrors(independentTrials(passRate), independentCounts(agreement), pairs);
    return {
      passRate,
      corrected: { ...corrected, n: passRate.n },
      falseFailureRate,
      labelErrors: labelErrors(agreement),
      labelsOfRun: isLabeled ? ofRun.length : 0,
      isWeighted: isLabeled && ofRun.some(({ weight }) => weight !== 1),
    };
  }
}

/**
 * Returns the agreement from an eval's newest test and the drawn labels of its criterion, for correcting a rate. Uses
 * the version recorded for the run, otherwise the active version. Throws a UserError if it was never tested, or
 * if the test's labels have changed.
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
    `Test it (${commandLine`art-e evals test ${name}`}${modeFlag(described?.test?.report.criterion ?? OVERALL)}), or import an eval file that contains the test.`,
  );
}

/** Returns the errors of an eval, or null if no test used the current labels. */
export function measuredErrors(db: Db, described: DescribedEval | null): MeasuredErrors | null {
  if (described?.test?.isStale !== false) return null;
  const { agreement, criterion, rejections } = described.test.report;
  return {
    agreement,
    labels: sampledUnseenLabels(db, criterion, described.stored),
    validation: rejections.length === 0 ? "passed" : "rejected",
  };
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
