import type { Estimate } from "../scores/interval-estimate.js";
import type { TaskId } from "../tasks/task-id.js";

/** Positive: the label is good. */
export interface Confusion {
  readonly goodPassed: number;
  readonly goodFailed: number;
  readonly badPassed: number;
  readonly badFailed: number;
}

/** How far an eval agrees with labels; 95 % intervals, which allow for repeats of a question. */
export interface Agreement {
  readonly good: number;
  readonly bad: number;
  /** Labelled traces that it does not apply to; in none of the figures. */
  readonly notApplicable: number;
  /** Labelled traces on which it failed or timed out; in none of the figures. */
  readonly errors: number;
  readonly accuracy: Estimate;
  /** Share of the good traces that pass; also called recall. */
  readonly truePositiveRate: Estimate;
  /** Share of the bad traces that fail; also called coverage. */
  readonly trueNegativeRate: Estimate;
  /** Share of the passing traces that are good. */
  readonly precision: Estimate;
  readonly recall: Estimate;
  readonly f1: Estimate;
  /** Cohen's kappa: agreement beyond chance. */
  readonly kappa: Estimate;
  /** Pearson's correlation of score and label. */
  readonly pearson: Estimate;
  readonly coverage: Estimate;
  /** Share of the good traces that fail. */
  readonly falseFailureRate: Estimate;
  readonly confusion: Confusion;
  /** 95 % of the kappas with shuffled labels are below; null where it cannot be told. */
  readonly shuffledKappa: number | null;
}

/** A labelled trace on which label and eval disagree. */
export interface Contradiction {
  readonly traceId: string;
  readonly runId: string | null;
  readonly taskId: TaskId | null;
  readonly label: "good" | "bad";
  readonly note: string | null;
  readonly score: number;
  readonly reason: string;
}

export const THRESHOLD_NAMES = ["usable", "gate", "origin"] as const;

export type ThresholdName = (typeof THRESHOLD_NAMES)[number];

/** What testing an eval on the held-out half gave. */
export interface EvalTest {
  readonly criterion: string;
  /** SHA-256 of the held-out labels. */
  readonly labelsHash: string;
  readonly agreement: Agreement;
  /** How often the held-out half of this criterion was read, this time included. */
  readonly heldOutReads: number;
  /** How often by a version of this eval. */
  readonly readsByThisEval: number;
  /** Running time per trace in ms: half take less, 95 % take less. */
  readonly latencyMs: { readonly p50: number; readonly p95: number };
  /** US dollars for a trace; 0 for what calls no model, null where the price is not known. */
  readonly costUsdPerTrace: number | null;
  readonly thresholds: ThresholdName;
  /** Why it was rejected; empty: it passed. */
  readonly rejections: readonly string[];
  /** Worth knowing: few labels, a half that was read often. */
  readonly warnings: readonly string[];
  readonly contradictions: readonly Contradiction[];
}
