import { z } from "zod";
import type { Estimate, Scale } from "../statistics/estimate.js";
import { isFailure } from "../tasks/ending.js";
import type { TaskGrade } from "../tasks/question.js";
import type { TaskResult } from "./task-result.js";
import type { JudgeCase, QuestionTrace, Verdict } from "./trace.js";

export type TaskOutcome = "right" | "wrong" | "failed" | "unscored";

/** A score by which tasks are right or wrong. */
export interface OutcomeScore extends Pick<ScoreDescription, "better" | "scale"> {
  readonly scorer: string;
}

/**
 * Whether a task is right by one score: from 0.5 on, below 0.5 if lower is better, or if the value is the best one of
 * the scale (a gold rank of 1). `unscored`: the task has no value of that score.
 */
export function taskOutcome(task: TaskResult, { scorer, better, scale }: OutcomeScore): TaskOutcome {
  const value = task.scores[scorer] ?? null;
  // A task of a suite may be graded though its time ran out.
  if (value === null) return isFailure(task.ending) ? "failed" : "unscored";
  const isRight = better === "higher" ? value >= 0.5 : value < 0.5 || value === scale?.min;
  return isRight ? "right" : "wrong";
}

/** The least and the most that a figure of the score can be; infinite where it has no such end. */
export function scaleOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">): Required<Scale> {
  if (kind === "rate") return { min: 0, max: 1 };
  return { min: scale?.min ?? -Infinity, max: scale?.max ?? Infinity };
}

/** `from 0 to 1`, `of at least 1`. */
export function scaleText({ min, max }: Required<Scale>): string {
  if (max === Infinity) return min === -Infinity ? "of any size" : `of at least ${min}`;
  return min === -Infinity ? `of at most ${max}` : `from ${min} to ${max}`;
}

/** Of the semantic score: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];

export function bandOf(score: number | null): Band | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}

/**
 * The tenth a question's realism lies in, as in the dataset's figures. The dataset's 0.7 reads as 0.699999988: it was
 * kept in 32 bits.
 */
export function realismBand(howRealistic: number): string {
  const tenth = Math.min(9, Math.floor(howRealistic * 10 + 1e-5));
  return `${tenth / 10}-${(tenth + 1) / 10}`;
}

/** Short names for what people ask after most; every scorer's own name is a metric too. */
export const METRIC_ALIASES = {
  accuracy: "judgeCorrect where the run was judged, taskSolved of a suite, else exactMatch",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
  score: "taskScore",
  solved: "taskSolved",
} as const satisfies Record<string, string>;

/** The judge's verdict, where there was a judge. */
const JUDGED = "judgeCorrect";

/** Of tasks of suites. */
const SOLVED = "taskSolved";

/** The scores of one run: by scorer, how many tasks have a value. */
export type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/**
 * The scorer that a metric's name means: `accuracy` is the judge's verdict where each of the runs has verdicts, and
 * whether a task was solved where each is over a suite.
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

/** What a person said of an answer, in a judge's words. */
export type Label = Verdict;

export interface LabelledVerdict extends JudgeCase {
  readonly label: Label;
  /** The judge's; null where there was none. */
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * How far a judge can be trusted. Correct against everything else, over the answers it gave a verdict on; 95 %
 * intervals.
 */
export interface Calibration {
  readonly labels: number;
  /** Without a verdict: the judge failed, or its reply could not be read. In none of the figures. */
  readonly unscored: number;
  readonly accuracy: Estimate;
  /** Of the answers the judge calls correct, the share that people do. */
  readonly precision: Estimate;
  /** Of the answers people call correct, the share that the judge does. */
  readonly recall: Estimate;
  /** Cohen's kappa: agreement beyond chance. */
  readonly kappa: Estimate;
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

/** What a run must reach to pass, and whether it did. */
export interface Gate {
  readonly kind: "fail_under" | "no_worse_than";
  /** As the user wrote it: the metric. */
  readonly metric: string;
  /** The scorer that the metric meant. */
  readonly scorer: string;
  readonly better: "higher" | "lower";
  /** The threshold, or the margin below the baseline. */
  readonly limit: number;
  /** The baseline's run; null of a threshold. */
  readonly baseline: string | null;
  /** The score, or the paired difference from the baseline. */
  readonly figure: Estimate;
  /** Of an eval: how many of the tasks it judged, and the least share that counts. Null of other scores. */
  readonly coverage: { readonly judged: number; readonly tasks: number; readonly least: number } | null;
  readonly passed: boolean;
}

/** `value` null: could not be told, with the reason; kept out of every mean. */
const scoreSchema = z.object({ value: z.number().nullable(), explanation: z.string().optional() });

export type Score = z.output<typeof scoreSchema>;

/** Says which Message-IDs name one mail: copies count as the mail they are copies of. */
export type SameMail = (messageId: string) => string;

export type UnscoredTrace = Omit<QuestionTrace, "scores">;

/** Port. A scorer reads a finished trace; it never changes it. */
export type Scorer = (trace: UnscoredTrace, sameMail: SameMail) => Score;

/** What a question itself says of which scores it can have. */
export interface ScorableQuestion {
  readonly goldAnswer: string;
  readonly goldMails: number;
}

/**
 * What a reader must know of a score's figure. `rate`: 0 or 1 a task; `mean`: any number. Its name is the field's own
 * word (exactMatch, tokenF1) and the key of its figures everywhere.
 */
export interface ScoreDescription {
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** One sentence: what it measures, and over which tasks. */
  readonly meaning: string;
  /** Of a mean; a rate goes from 0 to 1. */
  readonly scale?: Scale;
  /** It says nothing of other questions, not even where they failed; left out: it applies to all. */
  readonly appliesTo?: (question: ScorableQuestion) => boolean;
  /** False: a failed task has no value over all tasks either. Left out: it is wrong there, 0. */
  readonly failedAsWrong?: false;
}

export interface ScorerEntry extends ScoreDescription {
  readonly score: Scorer;
  /** `needed`: unscored without a judge's verdict; `used`: says more with one. */
  readonly judge?: "needed" | "used";
}

/** A score of tasks of suites, from what their evaluation functions gave. A task without a grade has none. */
export interface SuiteScorerEntry extends ScoreDescription {
  readonly scoreGrade: (grade: TaskGrade) => Score;
}
