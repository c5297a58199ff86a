import type { FinishReason } from "../domain/models/model.js";

/** Providers that the GenAI conventions call otherwise. */
const CONVENTIONAL_PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Of a model whose provider is not known. */
const UNKNOWN_PROVIDER = "unknown";

/** `provider/name` as the conventions have it, in two attributes. */
export function conventionalModel(id: string): { readonly provider: string; readonly model: string } {
  const slash = id.indexOf("/");
  if (slash <= 0) return { provider: UNKNOWN_PROVIDER, model: id };
  const provider = id.slice(0, slash);
  return { provider: CONVENTIONAL_PROVIDERS[provider] ?? provider, model: id.slice(slash + 1) };
}

/** The reverse. */
export function modelId(provider: string | undefined, model: string): string {
  if (provider === undefined || provider === UNKNOWN_PROVIDER) return model;
  const ours = Object.entries(CONVENTIONAL_PROVIDERS).find(([, name]) => name === provider)?.[0];
  return `${ours ?? provider}/${model}`;
}

/** Theirs are `tool_call` and `content_filter` where ours are `tool_calls` and `refusal`. */
const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  tool_calls: "tool_call",
  length: "length",
  refusal: "content_filter",
  other: "other",
};

export function conventionalFinishReason(reason: FinishReason): string {
  return FINISH_REASONS[reason];
}

/** The reverse; `other` for any that is not among theirs. */
export function finishReason(theirs: string | undefined): FinishReason {
  const known = Object.entries(FINISH_REASONS).find(([ours, name]) => name === theirs || ours === theirs);
  return (known?.[0] as FinishReason | undefined) ?? "other";
}
