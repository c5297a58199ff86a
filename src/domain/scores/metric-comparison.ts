import type { Estimate } from "./interval-estimate.js";

/** One metric of two runs over the questions that both have a value for. */
export interface MetricComparison {
  readonly metric: string;
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** Means over the pairs; null without pairs. */
  readonly baseline: number | null;
  readonly candidate: number | null;
  /** Candidate less baseline. n counts questions. */
  readonly difference: Estimate;
  /** Two-sided. McNemar's exact test where every pair is right or wrong, else drawing the differences' signs anew. */
  readonly p: number | null;
  readonly test: "mcnemar" | "sign_flip";
  /** Questions that the candidate does better, worse, and as well. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  /** Null: the difference may be chance. Else the interval holds no 0 and p is below 0.05. */
  readonly verdict: "better" | "worse" | null;
  /** Questions more for 80 % power at the observed difference; 0: there are enough; null: there is no difference. */
  readonly moreQuestions: number | null;
  /** The smallest difference that this many questions find with 80 % power. */
  readonly detectable: number | null;
}
