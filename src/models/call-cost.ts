// The cost of a call from prices and usage, and which reported costs are believed.
import { UserError } from "../platform/errors.js";
import { type Completion, type Model, ModelError, type ModelRequest, type PriceOf, promptChars } from "./model.js";
import type { Usage } from "./usage.js";

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
 * Fraction of the known price below which a reported cost is not used, and of the estimated tokens below which reported
 * ones are not used. Discounts, credits and errors of the estimate are smaller.
 */
const LOWEST_FRACTION = 0.01;

/** Low estimate of the characters per token, so that token estimates are too high rather than too low. */
export const CHARS_PER_TOKEN = 3;

/** Estimates the tokens of a call from the number of characters. */
export function estimatedUsage(request: ModelRequest, { content, toolCalls }: Completion): Usage {
  return {
    inputTokens: Math.ceil(promptChars(request) / CHARS_PER_TOKEN),
    outputTokens: Math.ceil(JSON.stringify([content, toolCalls]).length / CHARS_PER_TOKEN),
    cachedInputTokens: 0,
  };
}

interface ReportedCharge {
  readonly usage: Usage | null;
  /** US dollars, null if unknown, or undefined if the server did not report them. */
  readonly costUsd?: number | null | undefined;
}

/**
 * Returns the tokens and the cost to record for a call: the reported ones, unless they are impossible or contradict the
 * known price or the estimated tokens. Limits could otherwise be switched off by a server that reports a cost or tokens
 * of 0. `notes` explain what was not used.
 */
export function chargeOf(
  { usage: reported, costUsd }: ReportedCharge,
  priceOf: (usage: Usage) => number | null,
  estimated: Usage | null = null,
) {
  const notes: string[] = [];
  let usage = reported;
  const estimatedPrice = () => (estimated === null ? null : priceOf(estimated));
  const missing = usage === null || estimated === null ? null : missingTokens(usage, estimated);
  if (missing !== null && estimatedPrice() !== 0) {
    notes.push(`reports less than 1% of the estimated ${missing} tokens for one reply. Its tokens count as unknown`);
    usage = null;
  }
  if (usage !== null && usage.cachedInputTokens > usage.inputTokens) {
    notes.push("reports more cached tokens than input tokens for one reply. Its input counts as not cached");
    usage = { ...usage, cachedInputTokens: 0 };
  }
  const known = usage === null ? null : priceOf(usage);
  if (typeof costUsd === "number" && costUsd < (known ?? estimatedPrice() ?? 0) * LOWEST_FRACTION) {
    notes.push("reports a cost of less than 1% of the known price. The price applies instead");
    return { usage, costUsd: known, notes };
  }
  return { usage, costUsd: costUsd === undefined ? known : costUsd, notes };
}

/** Returns which tokens were reported far below the estimate. A short reply has so few that they are not compared. */
function missingTokens(usage: Usage, estimated: Usage): "input" | "output" | null {
  if (usage.inputTokens < estimated.inputTokens * LOWEST_FRACTION) return "input";
  return usage.outputTokens < Math.floor(estimated.outputTokens * LOWEST_FRACTION) ? "output" : null;
}

/** Maximum number of notes, because each reply of a server might cause a new one. */
const MAX_NOTES = 20;

/** Returns a function that reports notes about replies, each once. */
export function noteEachOnce(note: (text: string) => void): (texts: readonly string[]) => void {
  const noted = new Set<string>();
  return (texts) => {
    for (const text of texts) {
      if (noted.size < MAX_NOTES && !noted.has(text)) note(text);
      noted.add(text);
    }
  };
}

/**
 * Decorates a model: adds the cost to its replies, and to its errors for billed replies. A cost that a server reported
 * or that was recorded earlier is kept if it is plausible.
 */
export function withPrices(model: Model, priceOf: PriceOf): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      try {
        const completion = await model.complete(request, signal);
        const { notes, ...charge } = chargeOf(
          completion,
          (usage) => priceOf(usage, completion.model),
          estimatedUsage(request, completion),
        );
        return {
          ...completion,
          ...charge,
          ...(notes.length === 0 ? {} : { notes: [...(completion.notes ?? []), ...notes] }),
        };
      } catch (error) {
        if (!(error instanceof ModelError) || error.billed === null) throw error;
        const { usage, costUsd } = error.billed;
        const charge = chargeOf({ usage, costUsd: costUsd ?? undefined }, priceOf);
        throw error.with({ billed: { usage: charge.usage ?? usage, costUsd: charge.costUsd } });
      }
    },
  };
}
