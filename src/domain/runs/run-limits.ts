import { z } from "zod";

/** What a run may spend over all its attempts; null: no limit. */
export const runLimitsSchema = z
  .strictObject({
    maxCostUsd: z.number().positive().nullable().describe("US dollars, what judging costs included."),
    maxTokens: z.number().int().positive().nullable().describe("Tokens, in and out."),
    maxTimeMs: z.number().positive().nullable().describe("Time that is worked on it."),
    maxFailures: z
      .union([z.strictObject({ tasks: z.number() }), z.strictObject({ share: z.number() })])
      .nullable()
      .describe(
        "Failed tasks: a number of them, or a share of those finished (which counts from the twentieth on). Counted anew when the run is resumed.",
      ),
  })
  .describe("What the run may spend; null: no limit.");

export type RunLimits = Readonly<z.output<typeof runLimitsSchema>>;

export const NO_LIMITS: RunLimits = { maxCostUsd: null, maxTokens: null, maxTimeMs: null, maxFailures: null };
