// Asks a budget before each call of a task and reports the cost after it. It does not know the limits.
import { UserError } from "../platform/errors.js";
import { CHARS_PER_TOKEN, estimatedUsage } from "./call-cost.js";
import { type Completion, type Model, ModelError, type ModelRequest, type PriceOf, promptChars } from "./model.js";
import { parseModelName } from "./model-names.js";
import { type JournalEntry, type TaskJournal, withJournal } from "./reply-journal.js";
import { rulesFor, sentOf } from "./request-parameters.js";
import type { Billed, Usage } from "./usage.js";

export interface Spending {
  readonly costUsd: number;
  /** Input and output tokens. */
  readonly tokens: number;
}

/** Checked before each call of a task and updated with its cost. No call is made once a run limit is reached. */
export interface CallBudget {
  /** Throws `BudgetReached` once a run limit is reached. */
  beforeCall(): Promise<void>;
  afterCall(spending: Spending): Promise<void>;
}

/** Shared by a task's model calls. */
export interface TaskCalls {
  readonly budget: CallBudget;
  readonly journal: TaskJournal;
}

/**
 * Decorates a model for the calls of one task: stored replies first, otherwise calls within the budget. Offline models
 * compute the same reply again for free, so their replies are not stored.
 */
export function forTask(
  model: Model,
  { budget, journal }: TaskCalls,
  caller: JournalEntry["caller"],
  priceOf: PriceOf,
): Model {
  const limited = withCallBudget(model, budget, priceOf);
  return model.id.startsWith("offline/") ? limited : withJournal(limited, journal, caller);
}

/** A run limit was reached, so the call was not made. */
export class BudgetReached extends Error {
  override readonly name = "BudgetReached";
}

/** Decorates a model: checks the budget before each call. Cached replies cost nothing. */
function withCallBudget(model: Model, budget: CallBudget, priceOf: PriceOf): Model {
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

/** Returns the tokens and cost of a failed call, or null if nothing was billed. */
export function billedFor(error: unknown): Billed | null {
  return error instanceof ModelError ? error.billedInAll : null;
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

/** Estimates the tokens if the server does not report them, so that limits still apply. */
function spendingOf(request: ModelRequest, reply: Completion, priceOf: PriceOf): Spending {
  const usage = reply.usage ?? estimatedUsage(request, reply);
  const costUsd = reply.costUsd ?? priceOf(usage, reply.model) ?? 0;
  return { costUsd, tokens: tokensOf(usage) };
}

export class CostLimitReached extends UserError {}

/**
 * Cost limit shared by the calls of one or several models. Reserves the maximum cost of each call in advance, so no
 * call can exceed the limit. If the running calls have reserved too much of it, the next call waits for them to finish.
 */
export class CostLimit {
  spentUsd = 0;
  calls = 0;
  private unpriced = 0;
  private setAside = 0;
  private underWay = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param maxCostUsd US dollars, or null to only count the calls */
  constructor(private readonly maxCostUsd: number | null) {}

  /** Total cost in US dollars, or null if the price of a called model is unknown. */
  get costUsd(): number | null {
    return this.unpriced > 0 ? null : this.spentUsd;
  }

  /**
   * Decorates a model whose replies include their cost (see `withPrices`). Once the limit is reached, its calls throw
   * `CostLimitReached`. Apply it inside a cache, because cached replies cost nothing.
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
    // Running calls usually cost less than their reservation.
    while (!this.hasRoom(most)) {
      await new Promise<void>((resolve) => this.waiting.push(resolve));
      signal.throwIfAborted();
    }
    this.underWay++;
    this.setAside += most;
    try {
      const completion = await model.complete(request, signal);
      const { costUsd = null } = completion;
      // If the server does not report usage, the call is counted at its maximum cost.
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

  /** Returns false if there might be room after running calls finish. Throws if there will be none. */
  private hasRoom(most: number): boolean {
    const { maxCostUsd } = this;
    if (maxCostUsd === null || this.spentUsd + this.setAside + most <= maxCostUsd) return true;
    if (this.setAside > 0) return false;
    throw new CostLimitReached(
      "cost_limit_reached",
      `--max-cost ${maxCostUsd} is reached: $${this.spentUsd.toFixed(4)} has been spent, and the next call might cost $${most.toFixed(4)}.`,
      "Pass a higher --max-cost. Paid replies are cached.",
    );
  }
}

function mostOf(modelId: string, request: ModelRequest, priceOf: PriceOf): number {
  // Includes room for reasoning.
  const rules = rulesFor(parseModelName(modelId, null), "chat");
  const outputTokens = rules === null ? request.maxTokens : sentOf(rules, request).maxTokens;
  return (
    priceOf({ inputTokens: Math.ceil(promptChars(request) / CHARS_PER_TOKEN), outputTokens, cachedInputTokens: 0 }) ?? 0
  );
}
