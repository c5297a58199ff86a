import type { Provider } from "./providers.js";

/** Each provider's cheap model that is good enough to compare two answers. */
export const JUDGE_MODELS: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "claude-haiku-4-5",
  openai: "gpt-4.1-mini",
  google: "gemini-2.5-flash",
};
