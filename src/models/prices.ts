import { UserError } from "../platform/errors.js";
import { type Model, ModelError, type PriceOf, type Usage } from "./model.js";

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
}

/** Cache writes as multiples of the input price, for five minutes and for an hour: Anthropic's and OpenAI's rule. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_1H = 2;

/** Cost of a call at a given price. Cache writes are charged at the multiples above. */
export function priceAt(price: Price, usage: Usage): number {
  const { plain, cached, written, writtenForAnHour } = inputOf(usage);
  const forMinutes = written - writtenForAnHour;
  const input = plain + forMinutes * CACHE_WRITE + writtenForAnHour * CACHE_WRITE_1H;
  return (input * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/** Splits the input tokens. Cached and written are capped at the input, since some servers count them beside it. */
export function inputOf({ inputTokens, cachedInputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: Usage) {
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const writtenForAnHour = Math.min(cacheWrite1hTokens, written);
  return { plain: inputTokens - cached - written, cached, written, writtenForAnHour };
}

/** Refuses a limit in dollars, by the flag it is given with, where the calls of `model` cannot be priced. */
export function requirePriced(priceOf: PriceOf, flag: string, model: string, hint: string): void {
  if (priceOf({ inputTokens: 1_000_000, outputTokens: 1_000_000, cachedInputTokens: 0 }) !== null) return;
  throw new UserError("price_unknown", `${flag} cannot be kept: the price of ${model} is not known.`, hint);
}

/**
 * The same model, with the cost in its replies and in the errors of billed replies. A reply that has a cost already,
 * because its server reported one or because it was recorded, keeps it.
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
