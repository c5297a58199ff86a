import { type Completion, type Model, ModelError } from "../../domain/models/model.js";
import { withMessage } from "../http/provider-errors.js";
import type { ModelName } from "../model-name.js";

/**
 * Replacements recommended by the makers' deprecation pages on 2026-11-22; the first match applies:
 * platform.claude.com/docs/en/about-claude/model-deprecations, developers.openai.com/api/docs/deprecations,
 * ai.google.dev/gemini-api/docs/deprecations. A recommended model that has itself been replaced is skipped for its
 * successor.
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

/** The recommended replacement at the same provider; null if there is none. */
export function successorOf({ provider, name }: Pick<ModelName, "provider" | "name">): string | null {
  const successor = SUCCESSORS[provider]?.find(([pattern]) => pattern.test(name))?.[1] ?? null;
  return successor === name ? null : successor;
}

/** Decorates a model: where its server does not know it, the error names the replacement. */
export function withSuccessorHint(model: Model, name: ModelName): Model {
  const successor = successorOf(name);
  if (successor === null) return model;
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      try {
        return await model.complete(request, signal);
      } catch (error) {
        if (!(error instanceof ModelError) || error.kind !== "not_found") throw error;
        throw withMessage(error, `${error.message}; after ${name.name} came ${name.provider}/${successor}`);
      }
    },
  };
}
