import { type Ending, isFailure } from "../domain/ending.js";
import type { Spending } from "../domain/spending.js";

/** What a run may spend; null: no limit. */
export interface BudgetLimits {
  readonly maxCostUsd: number | null;
  /** In and out. */
  readonly maxTokens: number | null;
  readonly maxTimeMs: number | null;
  /** Failed tasks: a number of them, or a share of those finished (which counts from the twentieth on). */
  readonly maxFailures: { readonly tasks: number } | { readonly share: number } | null;
}

/** A share of fewer tasks than this says nothing. */
const ENOUGH_FOR_A_SHARE = 20;

/** The ledger of a run: what its finished tasks have cost, earlier sessions included. */
export class Budget {
  private costUsd = 0;
  private tokens = 0;
  private finished = 0;
  private failed = 0;
  private fatal: string | null = null;
  private readonly until: number;

  constructor(
    private readonly limits: BudgetLimits,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.until = limits.maxTimeMs === null ? Number.POSITIVE_INFINITY : now() + limits.maxTimeMs;
  }

  /** What an earlier session spent, replies from the cache aside. Its failures are not held against this one. */
  charge({ spent, judgeCostUsd }: Spending): void {
    this.costUsd += (spent.costUsd ?? 0) + (judgeCostUsd ?? 0);
    this.tokens += spent.usage.inputTokens + spent.usage.outputTokens;
  }

  /** What a task of this session spent. */
  add(spending: Spending, ending: Ending): void {
    this.charge(spending);
    this.finished++;
    if (isFailure(ending)) this.failed++;
  }

  /** Nothing further can succeed: a key that is refused is refused for every task. */
  giveUp(why: string): void {
    this.fatal ??= why;
  }

  /** Why no further task may begin; null while one may. */
  spentBy(): string | null {
    const { maxCostUsd, maxTokens, maxFailures } = this.limits;
    if (this.fatal !== null) return this.fatal;
    if (maxCostUsd !== null && this.costUsd >= maxCostUsd) {
      return `--max-cost ${maxCostUsd} is reached: $${this.costUsd.toFixed(4)} spent`;
    }
    if (maxTokens !== null && this.tokens >= maxTokens) {
      return `--max-run-tokens ${maxTokens} is reached: ${this.tokens} used`;
    }
    if (this.now() >= this.until) return "--max-time is over";
    if (maxFailures === null) return null;
    if ("tasks" in maxFailures) {
      return this.failed >= maxFailures.tasks ? `--max-failures ${maxFailures.tasks} is reached` : null;
    }
    const share = this.finished < ENOUGH_FOR_A_SHARE ? 0 : this.failed / this.finished;
    if (share < maxFailures.share) return null;
    return `--max-failures ${maxFailures.share * 100}% is reached: ${this.failed} of ${this.finished} tasks failed`;
  }
}
