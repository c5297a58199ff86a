// Names of models and providers, their API key variables, and replacements for retired models.
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";

export interface ModelName {
  readonly provider: Provider;
  /** Model name at the provider, or a file path for `replay`. Can contain slashes. */
  readonly name: string;
  readonly id: string;
}

/** `offline` and `replay` send no requests. */
export const PROVIDERS = ["anthropic", "openai", "google", "offline", "replay"] as const;

export type Provider = (typeof PROVIDERS)[number];

/**
 * Returns whether a model is one of OpenAI's reasoning models (o1, o3, o4, codex, and GPT-5 or later except `-chat`),
 * which reject `temperature` and `max_tokens`. Handles the maker prefix of routers (`openai/gpt-5-mini`) and the names
 * of fine-tuned models (`ft:o4-mini-2025-04-16:org::id`).
 */
export function isReasoningModel(name: string): boolean {
  const bare = name.slice(name.lastIndexOf("/") + 1).replace(/^ft:/, "");
  return /^(o\d|codex-|gpt-([5-9]|\d\d))/.test(bare) && !/^gpt-[\d.]+-chat/.test(bare);
}

/**
 * Replacements recommended on the makers' deprecation pages as of 2026-11-22. The first match applies. Sources:
 * platform.claude.com/docs/en/about-claude/model-deprecations, developers.openai.com/api/docs/deprecations,
 * ai.google.dev/gemini-api/docs/deprecations. If a recommended model has itself been replaced, its successor is listed
 * instead.
 */
const SUCCESSORS: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  anthropic: [
    [/^claude-(3-(5-)?haiku|haiku-4|instant)/, "claude-haiku-5-5"],
    [/^claude-(2|3-([57]-)?sonnet|sonnet-(4|5(-\d{8})?$))/, "claude-sonnet-5-5"],
    [/^claude-(3-opus|opus-(4|5(-\d{8})?$))/, "claude-opus-5-5"],
    [/^claude-fable-5(-1)?(-\d{8})?$/, "claude-fable-5-2"],
  ],
  openai: [
    [/^gpt-(4o-mini|4\.1-(mini|nano)|5(\.\d)?-nano|5\.6-luna)(-\d{4}|$)/, "gpt-6-luna"],
    [/^(gpt-3\.5-turbo|gpt-5(\.\d)?-mini|gpt-5\.6-terra|o4-mini)(-\d{4}|$)/, "gpt-6.1-terra"],
    [/^(gpt-4(-turbo|o|\.1)?|gpt-5(\.\d)?(-sol)?|gpt-6-sol|o[13]|o[13]-mini)(-\d{4}|$)/, "gpt-6.1-sol"],
  ],
  google: [
    [/^gemini-((1\.5|2\.[05])-flash|3\.1-flash-lite)(-|$)/, "gemini-3.5-flash-lite"],
    [/^gemini-((1\.[05]|2\.[05])-pro|pro|3(\.[5-7])?-flash(?!-lite))(-|$)/, "gemini-3.8-flash"],
    [/^gemini-3(\.\d)?-pro(-preview)?$/, "gemini-4-argon"],
  ],
};

/** Returns the recommended replacement at the same provider, or null if the model is current or unknown. */
export function successorOf({ provider, name }: Pick<ModelName, "provider" | "name">): string | null {
  const successor = SUCCESSORS[provider]?.find(([pattern]) => pattern.test(name))?.[1] ?? null;
  return successor === name ? null : successor;
}

/** Cheap models that are good enough to compare two answers. */
export const JUDGE_MODELS: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "claude-haiku-5-5",
  openai: "gpt-6-luna",
  google: "gemini-3.5-flash-lite",
};

/**
 * Name prefixes of models served only by their maker. Open-weight models (gpt-oss, gemma) are served by many providers.
 */
const NAMES: readonly (readonly [Provider, RegExp])[] = [
  ["anthropic", /^claude-/],
  ["openai", /^(gpt-(?!oss)|chatgpt-|o\d+(-|$)|codex-|computer-use-|ft:(gpt|o\d))/],
  ["google", /^gemini-/],
];

/** Returns a model's maker based on its bare name, or null if the name is ambiguous. */
function makerOf(name: string): Provider | null {
  return NAMES.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}

/** Returns the maker and the maker's own model name for the `maker/name` of a router or cloud, or null if unknown. */
export function makersName(name: string): { readonly maker: Provider; readonly name: string } | null {
  const bare = name.slice(name.lastIndexOf("/") + 1);
  const maker = makerOf(bare);
  // A suffix after a colon is a router variant (free, slower) with a different price.
  if (maker === null || (bare.includes(":") && !bare.startsWith("ft:"))) return null;
  return { maker, name: maker === "anthropic" ? bare.replace(/(\d)\.(\d)/g, "$1-$2") : bare };
}

/** Environment variables for each provider's API key. The first one that is set is used. Only commands read them. */
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

/** Returns whether calls go to a server that can throttle and bill. */
export function isRemote(provider: Provider): boolean {
  return provider !== "offline" && provider !== "replay";
}

/*
 * Chosen on 2026-11-22 from the makers' current models with known prices. Their predecessors shut down on these dates:
 * claude-sonnet-4-5 on 2026-11-30, gemini-2.5-pro and -flash on 2026-12-01, gpt-4.1 and gpt-4.1-mini on 2027-01-14.
 */

/** For agents that do not specify a model. */
export const DEFAULT_MODEL = "anthropic/claude-sonnet-5-5";

/** For each provider, one model that answers well, in order of preference. */
export const ANSWERING_MODELS = {
  anthropic: DEFAULT_MODEL,
  openai: "openai/gpt-6.1-sol",
  google: "google/gemini-3.8-flash",
} as const;

const EXAMPLES = `${Object.values(ANSWERING_MODELS).join(", ")}, offline/baseline, replay/FILE`;

/**
 * Parses `--model-id` and `--model-provider`. A known prefix determines the provider. A bare name belongs to
 * `provider`, or if that is null, to the maker that uses such names. With a base URL (`hasBaseUrl`), another provider's
 * prefix is part of the name, as at OpenRouter. Throws a UserError if the two flags conflict or no model is specified.
 */
export function parseModelName(id: string, provider: string | null, hasBaseUrl = false): ModelName {
  const name = id.trim();
  if (provider !== null && !isProvider(provider)) {
    throw new UserError(
      "provider_unknown",
      `Unknown provider "${provider}" (--model-provider).`,
      `${didYouMean(provider, PROVIDERS)}Available: ${PROVIDERS.join(", ")}.`,
    );
  }
  const slash = name.indexOf("/");
  if (slash === -1) return named(provider ?? providerOf(name), name);

  const prefix = name.slice(0, slash);
  if (!isProvider(prefix)) {
    if (provider !== null) return named(provider, name);
    throw new UserError(
      "provider_unknown",
      `Unknown provider "${prefix}" in --model-id ${name}.`,
      `${didYouMean(prefix, PROVIDERS)}Available: ${PROVIDERS.join(", ")}. If the model's name contains a slash, pass its provider with --model-provider.`,
    );
  }
  if (provider === null || provider === prefix) return named(prefix, name.slice(slash + 1));
  if (hasBaseUrl) return named(provider, name);
  throw new UserError(
    "model_flags_contradict",
    `--model-provider ${provider} and --model-id ${name} specify different providers.`,
    "Remove one of them, or pass --base-url if another server uses this name for the model.",
  );
}

function providerOf(name: string): Provider {
  if (name === "")
    throw new UserError("model_missing", "--model-id does not specify a model.", `Examples: ${EXAMPLES}.`);
  const provider = name === "baseline" ? "offline" : makerOf(name);
  if (provider !== null) return provider;
  throw new UserError(
    "model_unknown",
    `Cannot determine the provider of --model-id ${name}.`,
    `Add the provider: openai/${name} for an OpenAI-compatible server (--base-url), otherwise anthropic/${name} or google/${name}.`,
  );
}

function named(provider: Provider, name: string): ModelName {
  if (name === "") {
    throw new UserError(
      "model_missing",
      `--model-id does not specify a model of ${provider}.`,
      `Examples: ${EXAMPLES}.`,
    );
  }
  return { provider, name, id: `${provider}/${name}` };
}
