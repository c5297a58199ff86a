import { z } from "zod";

/**
 * How an interval was made. `wilson`: score interval of a rate. `clustered_wilson`: the same with the effective
 * number of tasks where answers come in clusters (repeats of a question, questions of an inbox). `wilson_mean`,
 * `clustered_wilson_mean`: the same of a mean on a scale with two ends. `t`, `clustered_t`: of any other mean.
 * `paired_bootstrap`, `paired_t`: of the mean difference between two runs' answers to the same questions.
 */
const INTERVAL_METHODS = [
  "wilson",
  "clustered_wilson",
  "wilson_mean",
  "clustered_wilson_mean",
  "t",
  "clustered_t",
  "paired_bootstrap",
  "paired_t",
] as const;

/** A 95 % interval; bounds are null where there is too little to tell. */
export interface Interval {
  readonly low: number | null;
  readonly high: number | null;
}

/**
 * A rate or a mean over `n` tasks with its 95 % interval. All null where there is nothing to take it over; the bounds
 * alone are null where there is too little to tell how sure it is.
 */
export interface Estimate extends Interval {
  readonly value: number | null;
  readonly n: number;
  /** Absent where there is no interval. */
  readonly method?: (typeof INTERVAL_METHODS)[number] | undefined;
}

export const NO_ESTIMATE: Estimate = { value: null, n: 0, low: null, high: null };

/** The least and the most that a score can be; left out where it has no such end. */
export interface Scale {
  readonly min?: number;
  readonly max?: number;
}

export const intervalSchema = z
  .strictObject({
    low: z.number().nullable().describe("Lower bound of the 95 % interval; null where there is too little to tell."),
    high: z.number().nullable().describe("Upper bound of the 95 % interval; null where there is too little to tell."),
  })
  .describe("A 95 % confidence interval.");

/**
 * A rate or a mean with its 95 % interval. All null where there is nothing to take it over; the bounds alone are null
 * where there is too little to tell how sure it is.
 */
export const estimateSchema = intervalSchema
  .extend({
    value: z.number().nullable().describe("The rate or mean; null where there is nothing to take it over."),
    n: z.number().int().nonnegative().describe("How many tasks it is taken over: the denominator."),
    method: z.enum(INTERVAL_METHODS).optional().describe("How the interval was made; absent where there is none."),
  })
  .describe("A rate or a mean with its 95 % confidence interval and its denominator.") satisfies z.ZodType<Estimate>;
