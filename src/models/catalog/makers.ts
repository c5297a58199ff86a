import type { Provider } from "../provider-names.js";

/** Models that their makers alone serve, by how their names begin. Open weights (gpt-oss, gemma) may be anybody's. */
const NAMES: readonly (readonly [Provider, RegExp])[] = [
  ["anthropic", /^claude-/],
  ["openai", /^(gpt-(?!oss)|chatgpt-|o\d+(-|$)|codex-|computer-use-|ft:(gpt|o\d))/],
  ["google", /^gemini-/],
];

/** Who makes the model of this bare name; null where the name does not say. */
export function makerOf(name: string): Provider | null {
  return NAMES.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}

/** A model as its maker names it, where a router or a cloud puts the maker before it; null where it is none of theirs. */
export function makersName(name: string): { readonly maker: Provider; readonly name: string } | null {
  const bare = name.slice(name.lastIndexOf("/") + 1);
  const maker = makerOf(bare);
  // What stands behind a colon is the router's: a free or slower way to the model at another price.
  if (maker === null || (bare.includes(":") && !bare.startsWith("ft:"))) return null;
  return { maker, name: maker === "anthropic" ? bare.replace(/(\d)\.(\d)/g, "$1-$2") : bare };
}
