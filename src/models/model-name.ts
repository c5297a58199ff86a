import { UserError } from "../domain/errors.js";
import { ANSWERING_MODELS } from "./catalog/default-models.js";
import { makerOf } from "./catalog/model-vendors.js";
import { isProvider, PROVIDERS, type Provider } from "./provider-names.js";

export interface ModelName {
  readonly provider: Provider;
  /** The model's name at that provider; for `replay` the path of a file. May hold slashes. */
  readonly name: string;
  /** `provider/name`. */
  readonly id: string;
}

const EXAMPLES = `${Object.values(ANSWERING_MODELS).join(", ")}, offline/baseline, replay/FILE`;

/**
 * Reads `--model-id` and `--model-provider`. A known prefix names the provider; a bare name belongs to `provider`, or
 * if that is null to the maker whose names start like it. With a base URL (`hasBaseUrl`), another provider's prefix
 * is part of the name, as at OpenRouter. Throws a UserError if the two contradict each other or name no model.
 */
export function parseModelName(id: string, provider: string | null, hasBaseUrl = false): ModelName {
  const given = id.trim();
  if (provider !== null && !isProvider(provider)) {
    throw new UserError(
      "unknown_provider",
      `--model-provider ${provider} is not a provider.`,
      `Providers: ${PROVIDERS.join(", ")}.`,
    );
  }
  const slash = given.indexOf("/");
  if (slash === -1) return named(provider ?? providerOf(given), given);

  const prefix = given.slice(0, slash);
  if (!isProvider(prefix)) {
    if (provider !== null) return named(provider, given);
    throw new UserError(
      "unknown_provider",
      `--model-id ${given} names no known provider.`,
      `Providers: ${PROVIDERS.join(", ")}. For a name that holds a slash, say whose it is with --model-provider.`,
    );
  }
  if (provider === null || provider === prefix) return named(prefix, given.slice(slash + 1));
  if (hasBaseUrl) return named(provider, given);
  throw new UserError(
    "contradictory_model",
    `--model-provider ${provider} and --model-id ${given} name different providers.`,
    "Leave one of them out, or set --base-url if this is the model's name at another server.",
  );
}

function providerOf(name: string): Provider {
  if (name === "") throw new UserError("no_model", "--model-id names no model.", `Examples: ${EXAMPLES}.`);
  const provider = name === "baseline" ? "offline" : makerOf(name);
  if (provider !== null) return provider;
  throw new UserError(
    "unknown_model",
    `--model-id ${name} does not tell whose model it is.`,
    `Put its provider before it: openai/${name} for a server that speaks like OpenAI's (--base-url), else anthropic/${name} or google/${name}.`,
  );
}

function named(provider: Provider, name: string): ModelName {
  if (name === "") {
    throw new UserError("no_model", `--model-id names no model of ${provider}.`, `Examples: ${EXAMPLES}.`);
  }
  return { provider, name, id: `${provider}/${name}` };
}
