import type { Estimate } from "./interval-estimate.js";

/** `accuracy=0.8`: what a metric must reach. */
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
  readonly passed: boolean;
}
