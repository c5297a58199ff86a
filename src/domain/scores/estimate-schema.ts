import { z } from "zod";
import { type Estimate, INTERVAL_METHODS } from "./interval-estimate.js";

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
