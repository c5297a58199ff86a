/** Known providers. `offline` and `replay` send no requests. */
export const PROVIDERS = ["anthropic", "openai", "google", "offline", "replay"] as const;

export type Provider = (typeof PROVIDERS)[number];

/** Environment variables that hold a provider's key, the first that is set wins. Read by the commands, never here. */
export const API_KEY_VARIABLES: Readonly<Record<Provider, readonly string[]>> = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  google: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
  offline: [],
  replay: [],
};

export function isProvider(word: string): word is Provider {
  return (PROVIDERS as readonly string[]).includes(word);
}

/** Whether calls go to a server, which may throttle and bill. */
export function isRemote(provider: Provider): boolean {
  return provider !== "offline" && provider !== "replay";
}
