import { UserError } from "../platform/errors.js";
import { type Model, ModelError, type PriceOf, type Usage } from "./model.js";

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
}

/** Prices of five-minute and one-hour cache writes at Anthropic and OpenAI, relative to the input price. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_1H = 2;

/** Returns the cost of a call in US dollars. Cache writes are charged at the multiples above. */
export function priceAt(price: Price, usage: Usage): number {
  const { plain, cached, cacheWrites, writtenForAnHour } = inputOf(usage);
  const forMinutes = cacheWrites - writtenForAnHour;
  const input = plain + forMinutes * CACHE_WRITE + writtenForAnHour * CACHE_WRITE_1H;
  return (input * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/**
 * Splits the input tokens. Cache reads and writes are capped at the input, because some servers count them separately.
 */
export function inputOf({ inputTokens, cachedInputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: Usage) {
  const cached = Math.min(cachedInputTokens, inputTokens);
  const cacheWrites = Math.min(cacheWriteTokens, inputTokens - cached);
  const writtenForAnHour = Math.min(cacheWrite1hTokens, cacheWrites);
  return { plain: inputTokens - cached - cacheWrites, cached, cacheWrites, writtenForAnHour };
}

/** Throws a UserError if the price of `model` is unknown, so the dollar limit set with `flag` cannot be enforced. */
export function requirePriced(priceOf: PriceOf, flag: string, model: string, hint: string): void {
  if (priceOf({ inputTokens: 1_000_000, outputTokens: 1_000_000, cachedInputTokens: 0 }) !== null) return;
  throw new UserError("price_unknown", `Cannot enforce ${flag}: the price of ${model} is unknown.`, hint);
}

/**
 * Decorates a model: adds the cost to its replies, and to its errors for billed replies. A cost that a server reported
 * or that was recorded earlier is kept.
 */
export function withPrices(model: Model, priceOf: PriceOf): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      try {
        const completion = await model.complete(request, signal);
        const { usage, costUsd = usage === null ? null : priceOf(usage, completion.model) } = completion;
        return { ...completion, costUsd };
      } catch (error) {
        if (!(error instanceof ModelError) || error.billed === null) throw error;
        const { usage, costUsd } = error.billed;
        throw error.with({ billed: { usage, costUsd: costUsd ?? priceOf(usage) } });
      }
    },
  };
}
