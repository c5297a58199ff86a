import type { Provider } from "../provider-names.js";

/** Name prefixes of models that only their maker serves. Open weights (gpt-oss, gemma) are served by anyone. */
const NAMES: readonly (readonly [Provider, RegExp])[] = [
  ["anthropic", /^claude-/],
  ["openai", /^(gpt-(?!oss)|chatgpt-|o\d+(-|$)|codex-|computer-use-|ft:(gpt|o\d))/],
  ["google", /^gemini-/],
];

/** The maker of a model by its bare name; null if the name does not tell. */
export function makerOf(name: string): Provider | null {
  return NAMES.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}

/** The maker and its own name of a model that a router or cloud lists as `maker/name`; null for any other. */
export function makersName(name: string): { readonly maker: Provider; readonly name: string } | null {
  const bare = name.slice(name.lastIndexOf("/") + 1);
  const maker = makerOf(bare);
  // A suffix after a colon is a router's variant (free, slower) with another price.
  if (maker === null || (bare.includes(":") && !bare.startsWith("ft:"))) return null;
  return { maker, name: maker === "anthropic" ? bare.replace(/(\d)\.(\d)/g, "$1-$2") : bare };
}
