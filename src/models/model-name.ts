import { UserError } from "../domain/errors.js";
import { DEFAULT_PROVIDER, isProvider, PROVIDERS, type Provider } from "./providers.js";

export interface ModelName {
  readonly provider: Provider;
  /** The model's name at that provider; for `replay` the path of a file. May hold slashes. */
  readonly name: string;
  /** `provider/name`. */
  readonly id: string;
}

const EXAMPLES = "anthropic/claude-sonnet-4-5, openai/gpt-4.1, google/gemini-2.5-pro, offline/baseline, replay/FILE";

/**
 * Reads `--model-id` and `--model-provider`. A known prefix names the provider; a bare name goes to `provider`,
 * or to Anthropic where that is null. With an own server (`hasBaseUrl`) another provider's prefix is part of the
 * name, as OpenRouter writes them. Throws a UserError where the two contradict each other or name nobody.
 */
export function parseModelName(id: string, provider: string | null, hasBaseUrl = false): ModelName {
  const given = id.trim();
  if (provider !== null && !isProvider(provider)) {
    throw new UserError(
      "UNKNOWN_PROVIDER",
      `--model-provider ${provider} is not a provider.`,
      `Providers: ${PROVIDERS.join(", ")}.`,
    );
  }
  const slash = given.indexOf("/");
  if (slash === -1) return named(provider ?? DEFAULT_PROVIDER, given);

  const prefix = given.slice(0, slash);
  if (!isProvider(prefix)) {
    if (provider !== null) return named(provider, given);
    throw new UserError(
      "UNKNOWN_PROVIDER",
      `--model-id ${given} names no known provider.`,
      `Providers: ${PROVIDERS.join(", ")}. For a name that holds a slash, say whose it is with --model-provider.`,
    );
  }
  if (provider === null || provider === prefix) return named(prefix, given.slice(slash + 1));
  if (hasBaseUrl) return named(provider, given);
  throw new UserError(
    "CONTRADICTORY_MODEL",
    `--model-provider ${provider} and --model-id ${given} name different providers.`,
    "Leave one of them out, or set --base-url if this is the model's name at another server.",
  );
}

function named(provider: Provider, name: string): ModelName {
  if (name === "") {
    throw new UserError("NO_MODEL", `--model-id names no model of ${provider}.`, `Examples: ${EXAMPLES}.`);
  }
  return { provider, name, id: `${provider}/${name}` };
}
