import type { Provider } from "../provider-names.js";

/** Each provider's cheap model that is good enough to compare two answers. */
export const JUDGE_MODELS: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "claude-haiku-5-5",
  openai: "gpt-6-luna",
  google: "gemini-3.5-flash-lite",
};
