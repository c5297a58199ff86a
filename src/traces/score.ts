import type { Estimate, Scale } from "../statistics/estimate.js";
import { isFailure } from "../tasks/ending.js";
import type { TaskGrade } from "../tasks/question.js";
import type { TaskResult } from "./task-result.js";
import type { JudgeCase, QuestionTrace, Verdict } from "./trace.js";

export type TaskOutcome = "right" | "wrong" | "failed" | "unscored";

/** A score that decides whether a task is right. */
export interface OutcomeScore extends Pick<ScoreDescription, "better" | "scale"> {
  readonly scorer: string;
}

/**
 * Returns whether a task is right by one score: from 0.5 on, below 0.5 if lower is better, or at the best value of the
 * scale (a gold rank of 1). `unscored` means that the task does not have the score.
 */
export function taskOutcome(task: TaskResult, { scorer, better, scale }: OutcomeScore): TaskOutcome {
  const value = task.scores[scorer] ?? null;
  // A suite task can be graded even after a timeout.
  if (value === null) return isFailure(task.ending) ? "failed" : "unscored";
  const isRight = better === "higher" ? value >= 0.5 : value < 0.5 || value === scale?.min;
  return isRight ? "right" : "wrong";
}

/** Returns the lowest and highest possible value of the score, which are infinite if it is unlimited. */
export function scaleOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">): Required<Scale> {
  if (kind === "rate") return { min: 0, max: 1 };
  return { min: scale?.min ?? -Infinity, max: scale?.max ?? Infinity };
}

/** Formats a scale, such as `from 0 to 1` or `of at least 1`. */
export function scaleText({ min, max }: Required<Scale>): string {
  if (max === Infinity) return min === -Infinity ? "of any size" : `of at least ${min}`;
  return min === -Infinity ? `of at most ${max}` : `from ${min} to ${max}`;
}

/** Bands of the semantic score: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];

export function bandOf(score: number | null): Band | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}

/**
 * Returns the tenth that a question's realism falls into, as in the dataset's figures. A realism of 0.7 is read as
 * 0.699999988, because the dataset stores it in 32 bits.
 */
export function realismBand(howRealistic: number): string {
  const tenth = Math.min(9, Math.floor(howRealistic * 10 + 1e-5));
  return `${tenth / 10}-${(tenth + 1) / 10}`;
}

/** Short names for the most common metrics. Every scorer's name is a metric too. */
export const METRIC_ALIASES = {
  accuracy: "judgeCorrect if the run was judged, taskSolved for a suite, otherwise exactMatch",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
  score: "taskScore",
  solved: "taskSolved",
} as const satisfies Record<string, string>;

/** Scorer for the judge's verdict, in runs with a judge. */
const JUDGED = "judgeCorrect";

/** For suite tasks. */
const SOLVED = "taskSolved";

/** Number of tasks with a value, per scorer of a run. */
export type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/**
 * Returns the scorer for a metric name. `accuracy` is the judge's verdict if every run has verdicts. If all runs are
 * suite runs, it is whether a task was solved.
 */
export function scorerOfMetric(metric: string, ...runs: readonly ScoredTasks[]): string {
  if (metric === "accuracy") {
    if (runs.every((scores) => isScored(JUDGED, scores))) return JUDGED;
    return runs.length > 0 && runs.every((scores) => scores[SOLVED] !== undefined) ? SOLVED : "exactMatch";
  }
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

export function isScored(scorer: string, scores: ScoredTasks): boolean {
  return (scores[scorer]?.n ?? 0) > 0;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}

/** A person's judgment of an answer, as a verdict. */
export type Label = Verdict;

export interface LabelledVerdict extends JudgeCase {
  readonly label: Label;
  /** The judge's verdict, or null without one. */
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * How well a judge agrees with people about the answers that have a verdict. It compares correct answers with all
 * others. Figures have 95% intervals.
 */
export interface Calibration {
  readonly labels: number;
  /**
   * Number of labels without a verdict, because the judge failed or its reply could not be read. All figures exclude
   * them.
   */
  readonly unscored: number;
  /** Of the answers that people call correct, the fraction that the judge also calls correct. */
  readonly truePositiveRate: Estimate;
  /** Of the other answers, the fraction that the judge does not call correct either. */
  readonly trueNegativeRate: Estimate;
  readonly confusion: {
    readonly bothCorrect: number;
    readonly judgeOnly: number;
    readonly labelOnly: number;
    readonly neither: number;
  };
  readonly disagreements: readonly LabelledVerdict[];
}

export interface Threshold {
  readonly metric: string;
  readonly limit: number;
}

/** The tasks of a run that an eval covered: it judged them, or it does not apply to them. */
export interface EvalCoverage {
  readonly judged: number;
  readonly notApplicable: number;
  /** Number of tasks, including failed ones and those on which the eval failed. */
  readonly tasks: number;
  /** Minimum covered fraction, 0 to 1. */
  readonly least: number;
}

/** The result of the newest test of an eval's version. `unknown` if the database does not contain the eval. */
export type GateValidation = "none" | "stale" | "passed" | "rejected" | "unknown";

/** A run's requirement for passing, and the result. */
export interface Gate {
  readonly kind: "fail_under" | "no_worse_than";
  /** The metric as the user wrote it. */
  readonly metric: string;
  /** The scorer for the metric. */
  readonly scorer: string;
  readonly better: "higher" | "lower";
  /** The threshold, or the margin below the baseline. */
  readonly limit: number;
  /** Run id of the baseline, or null for a threshold. */
  readonly baseline: string | null;
  /** The score, or the paired difference from the baseline. */
  readonly figure: Estimate;
  /** For an eval, the tasks that it covered, and the minimum fraction. Null for other scores. */
  readonly coverage: EvalCoverage | null;
  /** Whether the eval was validated. Null for other scores, and for regression cases, which cannot be tested. */
  readonly validation: GateValidation | null;
  readonly passed: boolean;
}

/** A null `value` means that the score could not be determined, with the reason in `explanation`. Means exclude it. */
export type Score = QuestionTrace["scores"][string];

/** Maps the Message-ID of a copy to that of the original email. */
export type SameMail = (messageId: string) => string;

export type UnscoredTrace = Omit<QuestionTrace, "scores">;

/** Port for scorers. A scorer reads a finished trace and never changes it. */
export type Scorer = (trace: UnscoredTrace, sameMail: SameMail) => Score;

/** The facts about a question that determine which scores it can have. */
export interface ScorableQuestion {
  readonly goldAnswer: string;
  readonly goldMails: number;
}

/**
 * Explains a score to readers. A `rate` is 0 or 1 per task and a `mean` is any number. The score's name is the usual
 * term (exactMatch, tokenF1), and everywhere serves as the key for its figures.
 */
export interface ScoreDescription {
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** Explains the score and the tasks that it covers in one sentence. */
  readonly meaning: string;
  /** For a mean. A rate always goes from 0 to 1. */
  readonly scale?: Scale;
  /**
   * Whether the score applies to a question. Other questions never have it, even if they failed. If absent, the score
   * applies to all questions.
   */
  readonly appliesTo?: (question: ScorableQuestion) => boolean;
  /** False if failed tasks are also excluded from the figure over all tasks. If absent, they count as 0 there. */
  readonly failedAsWrong?: false;
}

export interface ScorerEntry extends ScoreDescription {
  readonly score: Scorer;
  /** `needed` if the score requires a judge's verdict, `used` if a verdict improves it. */
  readonly judge?: "needed" | "used";
}

/** A score of suite tasks, computed from their grade. A task without a grade is unscored. */
export interface SuiteScorerEntry extends ScoreDescription {
  readonly scoreGrade: (grade: TaskGrade) => Score;
}
