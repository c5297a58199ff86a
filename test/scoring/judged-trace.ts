import type { Judgment, Verdict } from "../../src/traces/judgment.js";

/** Returns a judgment of an answer. */
export function judged(verdict: Verdict | null, changes: Partial<Judgment> = {}): Judgment {
  return {
    model: "acme/judge",
    baseUrl: null,
    protocol: "verdict",
    version: 1,
    promptHash: "0123456789ab",
    votes: 1,
    verdict,
    reason: verdict === null ? "the judge failed" : "so it is",
    agreement: verdict === null ? null : 1,
    cast: [],
    usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 0 },
    costUsd: 0.25,
    ...changes,
  };
}
