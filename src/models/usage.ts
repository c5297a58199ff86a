// Tokens and costs of calls, and their sums.
import { z } from "zod";

const tokens = z.number().int().nonnegative();

/** Tokens of one call or a sum of calls. `inputTokens` includes cache reads and cache writes. */
export const usageSchema = z.object({
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens
    .exactOptional()
    .describe("Input tokens written to a cache. They cost more than other input tokens. Absent if there are none."),
  cacheWrite1hTokens: tokens
    .exactOptional()
    .describe(
      "Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.",
    ),
  reasoningTokens: tokens
    .exactOptional()
    .describe("Output tokens spent on reasoning, included in outputTokens. Absent if none were reported."),
});

export type Usage = z.output<typeof usageSchema>;

/** Tokens that no reply has: ten times any model's largest context window. */
export const MAX_TOKENS = 100_000_000;

/** More tokens than any answer of an agent uses, and so few that a run's totals remain safe integers. */
export const MAX_ANSWER_TOKENS = 1_000_000_000_000;

/** US dollars that no reply costs, nor an answer of an agent. */
export const MAX_COST_USD = 10_000;

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

/** Tokens and US dollars billed for a failed HTTP attempt. */
export const billedSchema = z.object({ usage: usageSchema, costUsd: z.number().nullable() });

export type Billed = z.output<typeof billedSchema>;

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    ...cacheWrites(
      (a.cacheWriteTokens ?? 0) + (b.cacheWriteTokens ?? 0),
      (a.cacheWrite1hTokens ?? 0) + (b.cacheWrite1hTokens ?? 0),
    ),
    ...reasoningUsage((a.reasoningTokens ?? 0) + (b.reasoningTokens ?? 0)),
  };
}

/** Returns the usage property for reasoning tokens, which is absent if there are none. */
export function reasoningUsage(tokens: number | null | undefined): Pick<Usage, "reasoningTokens"> {
  return tokens ? { reasoningTokens: tokens } : {};
}

/**
 * Returns the usage properties for cache writes, which are absent if nothing was written. `tokens` includes
 * `forAnHour`.
 */
export function cacheWrites(tokens: number, forAnHour = 0): Pick<Usage, "cacheWriteTokens" | "cacheWrite1hTokens"> {
  if (tokens === 0) return {};
  return { cacheWriteTokens: tokens, ...(forAnHour === 0 ? {} : { cacheWrite1hTokens: forAnHour }) };
}

/** Returns the sum of several attempts, or null if none was billed. The cost is null if any cost is unknown. */
export function sumBilled(attempts: readonly (Billed | null | undefined)[]): Billed | null {
  return attempts.reduce<Billed | null>((sum, billed) => {
    if (!billed || sum === null) return billed ?? sum;
    return { usage: addUsage(sum.usage, billed.usage), costUsd: addCost(sum.costUsd, billed.costUsd) };
  }, null);
}

/** Returns null if any cost is unknown, because a partial sum would look complete. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
