/*
 * Chosen on 2026-11-22 among the makers' current models with known prices. Their predecessors shut down:
 * claude-sonnet-4-5 on 2026-11-30, gemini-2.5-pro and -flash on 2026-12-01, gpt-4.1 and gpt-4.1-mini on 2027-01-14.
 */

/** For agents that name no model of their own. */
export const DEFAULT_MODEL = "anthropic/claude-sonnet-5-5";

/** A model of each provider that answers well, in the order of preference. */
export const ANSWERING_MODELS = {
  anthropic: DEFAULT_MODEL,
  openai: "openai/gpt-6.1-sol",
  google: "google/gemini-3.8-flash",
} as const;
