import { calcPrice } from "@pydantic/genai-prices";
import type { Usage } from "../domain/model.js";

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
}

/** What a call cost at a given price. */
export function priceAt(price: Price, usage: Usage): number {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const fresh = usage.inputTokens - cached;
  return (fresh * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/** Models that the table does not know: it is long, and would be gone through at every call. */
const unpriced = new Set<string>();

/**
 * What a call cost, in USD, by the price table shipped with the library; cached input at its own price. Null where
 * the table does not know the model, 0 for the providers that ask nobody. `modelId` is `provider/name`; `at` picks the
 * price of a day where prices changed. Tokens written to a cache count as ordinary input.
 */
export function priceOf(modelId: string, usage: Usage, at?: Date): number | null {
  const slash = modelId.indexOf("/");
  const provider = modelId.slice(0, slash);
  if (provider === "offline" || provider === "replay") return 0;
  if (unpriced.has(modelId)) return null;
  const tokens = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: Math.min(usage.cachedInputTokens, usage.inputTokens),
  };
  const options = { providerId: provider, ...(at === undefined ? {} : { timestamp: at }) };
  const price = calcPrice(tokens, modelId.slice(slash + 1), options);
  if (price === null) unpriced.add(modelId);
  return price?.total_price ?? null;
}
