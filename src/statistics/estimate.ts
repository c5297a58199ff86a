// The type of a value with its 95% interval, and its schema.
import { z } from "zod";

/**
 * How an interval was computed. `wilson`: score interval for a rate. `clustered_wilson`: the same with the effective
 * number of tasks, for answers in clusters (epochs of a question, questions about one inbox). `wilson_mean`,
 * `clustered_wilson_mean`: the same for a mean on a scale with two ends. `t`, `clustered_t`: for any other mean.
 * `paired_wilson`: for the mean difference between two runs on the same questions, on a scale with two ends.
 * `paired_bootstrap`, `paired_t`: for any other mean difference. `bootstrap`: for a ratio, or a rate of weighted
 * labels. `betting_sequence`: for a mean difference, valid at any number of questions
 * (`compare --sequential`).
 */
const INTERVAL_METHODS = [
  "wilson",
  "clustered_wilson",
  "wilson_mean",
  "clustered_wilson_mean",
  "t",
  "clustered_t",
  "paired_wilson",
  "paired_bootstrap",
  "paired_t",
  "bootstrap",
  "betting_sequence",
] as const;

/** A 95% interval. The bounds are null if there is too little data. */
export interface Interval {
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * A rate or a mean over `n` tasks with its 95% interval. The value is null if `n` is 0. The bounds are also null if
 * there is too little data for an interval.
 */
export interface Estimate extends Interval {
  readonly value: number | null;
  readonly n: number;
  /** Absent without an interval. */
  readonly method?: (typeof INTERVAL_METHODS)[number] | undefined;
}

export const NO_ESTIMATE: Estimate = { value: null, n: 0, low: null, high: null };

/** The minimum and maximum possible score. A missing end means no limit. */
export interface Scale {
  readonly min?: number;
  readonly max?: number;
}

export const intervalSchema = z
  .strictObject({
    low: z.number().nullable().describe("Lower bound of the 95% interval, or null if there is too little data."),
    high: z.number().nullable().describe("Upper bound of the 95% interval, or null if there is too little data."),
  })
  .describe("A 95% confidence interval.");

export const estimateSchema = intervalSchema
  .extend({
    value: z.number().nullable().describe("The rate or mean, or null if n is 0."),
    n: z.number().int().nonnegative().describe("Number of tasks, the denominator."),
    method: z.enum(INTERVAL_METHODS).optional().describe("How the interval was computed. Absent without an interval."),
  })
  .describe("A rate or a mean with its 95% confidence interval and its denominator.") satisfies z.ZodType<Estimate>;
