import { UserError } from "../platform/errors.js";
import {
  type Billed,
  type Completion,
  type Model,
  ModelError,
  type ModelRequest,
  type PriceOf,
  promptChars,
  type Usage,
} from "./model.js";
import { parseModelName } from "./model-names.js";
import { rulesFor, sentOf } from "./request-parameters.js";

/** Characters for a token, at the least: an estimate that is rather too high. */
const CHARS_PER_TOKEN = 3;

export interface Spending {
  readonly costUsd: number;
  /** In and out. */
  readonly tokens: number;
}

/** Asked before each call of a task, and told what it cost: no call is made once a limit of the run is reached. */
export interface CallBudget {
  /** Throws a `BudgetReached`. */
  beforeCall(): Promise<void>;
  afterCall(spending: Spending): Promise<void>;
}

/** A limit of the run is reached: the call is not made. */
export class BudgetReached extends Error {
  override readonly name = "BudgetReached";
}

/** The same model, its calls within the budget. Cached replies cost nothing. */
export function withCallBudget(model: Model, budget: CallBudget, priceOf: PriceOf): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      await budget.beforeCall();
      try {
        const reply = await model.complete(request, signal);
        if (reply.cached !== true) await budget.afterCall(spendingOf(request, reply, priceOf));
        return reply;
      } catch (error) {
        const billed = billedFor(error);
        if (billed !== null) await budget.afterCall({ costUsd: billed.costUsd ?? 0, tokens: tokensOf(billed.usage) });
        throw error;
      }
    },
  };
}

/** Tokens and cost of a failed call, or null if nothing was billed. */
export function billedFor(error: unknown): Billed | null {
  return error instanceof ModelError ? error.billedInAll : null;
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

/** Where a server does not report tokens, they are estimated from the characters: a limit holds there too. */
function spendingOf(request: ModelRequest, reply: Completion, priceOf: PriceOf): Spending {
  const usage = reply.usage ?? {
    inputTokens: Math.ceil(promptChars(request) / CHARS_PER_TOKEN),
    outputTokens: Math.ceil(JSON.stringify([reply.content, reply.toolCalls]).length / CHARS_PER_TOKEN),
    cachedInputTokens: 0,
  };
  const costUsd = reply.costUsd ?? priceOf(usage, reply.model) ?? 0;
  return { costUsd, tokens: tokensOf(usage) };
}

export class CostLimitReached extends UserError {}

/**
 * What the calls of one or several models have cost, and may cost in all. No call is made that could exceed the limit:
 * before each, the most that it can cost is set aside, and where calls under way leave no room, it waits for them.
 */
export class CostLimit {
  spentUsd = 0;
  calls = 0;
  private unpriced = 0;
  private setAside = 0;
  private underWay = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param maxCostUsd null: no limit, the calls are counted only */
  constructor(private readonly maxCostUsd: number | null) {}

  /** Null where there were calls to a model without a known price. */
  get costUsd(): number | null {
    return this.unpriced > 0 ? null : this.spentUsd;
  }

  /**
   * The same model, whose replies have their cost (`withPrices`); its calls throw `CostLimitReached` at the limit. To
   * be put inside of a cache: cached replies cost nothing.
   */
  applyTo(model: Model, priceOf: PriceOf): Model {
    return {
      id: model.id,
      complete: (request, signal) => this.complete(model, priceOf, request, signal),
    };
  }

  private async complete(
    model: Model,
    priceOf: PriceOf,
    request: ModelRequest,
    signal: AbortSignal,
  ): Promise<Completion> {
    const most = mostOf(model.id, request, priceOf);
    // Calls under way mostly cost less than what is set aside for them.
    while (!this.hasRoom(most)) {
      await new Promise<void>((resolve) => this.waiting.push(resolve));
      signal.throwIfAborted();
    }
    this.underWay++;
    this.setAside += most;
    try {
      const completion = await model.complete(request, signal);
      const { costUsd = null } = completion;
      // A server that does not say what was used is charged the most.
      this.spentUsd += costUsd ?? most;
      if (costUsd === null && most === 0) this.unpriced++;
      this.calls++;
      return completion;
    } catch (error) {
      this.spentUsd += billedFor(error)?.costUsd ?? 0;
      throw error;
    } finally {
      this.underWay--;
      this.setAside = this.underWay === 0 ? 0 : this.setAside - most;
      for (const resume of this.waiting.splice(0)) resume();
    }
  }

  /** False: there may be when calls under way have ended. Throws where there is none for certain. */
  private hasRoom(most: number): boolean {
    const { maxCostUsd } = this;
    if (maxCostUsd === null || this.spentUsd + this.setAside + most <= maxCostUsd) return true;
    if (this.setAside > 0) return false;
    throw new CostLimitReached(
      "cost_limit",
      `--max-cost ${maxCostUsd} is reached: $${this.spentUsd.toFixed(4)} is spent, and the next call may cost $${most.toFixed(4)}.`,
      "Give more with --max-cost; what was paid for is not paid for again.",
    );
  }
}

function mostOf(modelId: string, request: ModelRequest, priceOf: PriceOf): number {
  // Room for reasoning included.
  const rules = rulesFor(parseModelName(modelId, null), "chat");
  const outputTokens = rules === null ? request.maxTokens : sentOf(rules, request).maxTokens;
  return (
    priceOf({ inputTokens: Math.ceil(promptChars(request) / CHARS_PER_TOKEN), outputTokens, cachedInputTokens: 0 }) ?? 0
  );
}
