import { UserError } from "../../domain/errors.js";
import type { Completion, Model, ModelRequest, PriceOf } from "../../domain/models/model.js";
import { rulesFor, sentOf } from "../catalog/request-parameters.js";
import { parseModelName } from "../model-name.js";

/** Characters for a token, at the least: an estimate that is rather too high. */
const CHARS_PER_TOKEN = 3;

/** What calls have cost, and what they may cost in all. */
export interface CostLimit {
  readonly spentUsd: number;
  readonly calls: number;
}

/**
 * A model that makes no call that could exceed a limit: before each call, the most that it can cost is set aside, and
 * where calls under way leave no room, it waits for them. To be put inside of a cache: cached replies cost nothing.
 * Throws a UserError at the limit. The returned `limit` tells what was spent so far.
 */
export function limitCost(
  model: Model,
  priceOf: PriceOf,
  maxCostUsd: number,
): { readonly model: Model; readonly limit: CostLimit } {
  const limit = { spentUsd: 0, calls: 0 };
  let setAside = 0;
  let underWay = 0;
  const waiting: (() => void)[] = [];
  const complete = async (request: ModelRequest, signal: AbortSignal): Promise<Completion> => {
    const most = mostOf(model.id, request, priceOf);
    // Calls under way mostly cost less than what is set aside for them.
    while (setAside > 0 && limit.spentUsd + setAside + most > maxCostUsd) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      signal.throwIfAborted();
    }
    if (limit.spentUsd + most > maxCostUsd) {
      throw new UserError(
        "cost_limit",
        `--max-cost ${maxCostUsd} is reached: $${limit.spentUsd.toFixed(4)} is spent, and the next call may cost $${most.toFixed(4)}.`,
        "Give more with --max-cost; what was paid for is not paid for again.",
      );
    }
    underWay++;
    setAside += most;
    try {
      const completion = await model.complete(request, signal);
      const { usage, costUsd = usage === null ? null : priceOf(usage, completion.model) } = completion;
      // A server that does not say what was used is charged the most.
      limit.spentUsd += costUsd ?? most;
      limit.calls++;
      return { ...completion, costUsd };
    } finally {
      underWay--;
      setAside = underWay === 0 ? 0 : setAside - most;
      for (const resume of waiting.splice(0)) resume();
    }
  };
  return { model: { id: model.id, complete }, limit };
}

function mostOf(modelId: string, request: ModelRequest, priceOf: PriceOf): number {
  const { system, messages, tools } = request;
  const chars = JSON.stringify([system, messages, tools]).length;
  // Room for reasoning included.
  const rules = rulesFor(parseModelName(modelId, null), "chat");
  const outputTokens = rules === null ? request.maxTokens : sentOf(rules, request).maxTokens;
  return priceOf({ inputTokens: Math.ceil(chars / CHARS_PER_TOKEN), outputTokens, cachedInputTokens: 0 }) ?? 0;
}
