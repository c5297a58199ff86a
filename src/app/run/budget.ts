import type { TaskCost } from "../../domain/runs/cost.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import { type Ending, isFailure } from "../../domain/tasks/task-ending.js";

/** A share of failures is not judged before so many tasks. */
const ENOUGH_FOR_A_SHARE = 20;

/** The flags of the limits, with the unit each takes. */
export const LIMIT_FLAGS = {
  "--max-cost": "USD",
  "--max-run-tokens": "N",
  "--max-time": "MINUTES",
  "--max-failures": "N",
} as const;

export type LimitFlag = keyof typeof LIMIT_FLAGS;

/** Why no further task may start. */
export interface LimitReached {
  readonly flag: LimitFlag;
  readonly why: string;
}

/** What the finished tasks of a run have cost, earlier attempts included, against its limits. */
export class Budget {
  private costUsd = 0;
  private tokens = 0;
  private finished = 0;
  private failed = 0;
  private readonly until: number;

  /** @param workedMs time that earlier attempts have taken */
  constructor(
    private readonly limits: RunLimits,
    workedMs = 0,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.until = limits.maxTimeMs === null ? Number.POSITIVE_INFINITY : now() + limits.maxTimeMs - workedMs;
  }

  /** Adds what an earlier attempt spent, cached replies aside. Its failures do not count. */
  charge({ spent, judgeCostUsd }: TaskCost): void {
    this.costUsd += (spent.costUsd ?? 0) + (judgeCostUsd ?? 0);
    this.tokens += spent.usage.inputTokens + spent.usage.outputTokens;
  }

  /** Adds what a task of this attempt spent. */
  add(spending: TaskCost, ending: Ending): void {
    this.charge(spending);
    this.finished++;
    if (isFailure(ending)) this.failed++;
  }

  /** Null while a further task may start. */
  reached(): LimitReached | null {
    const { maxCostUsd, maxTokens, maxFailures } = this.limits;
    if (maxCostUsd !== null && this.costUsd >= maxCostUsd) {
      return { flag: "--max-cost", why: `--max-cost ${maxCostUsd} is reached: $${this.costUsd.toFixed(4)} spent` };
    }
    if (maxTokens !== null && this.tokens >= maxTokens) {
      return { flag: "--max-run-tokens", why: `--max-run-tokens ${maxTokens} is reached: ${this.tokens} used` };
    }
    if (this.now() >= this.until) return { flag: "--max-time", why: "--max-time is over" };
    const why = maxFailures === null ? null : this.failuresReached(maxFailures);
    return why === null ? null : { flag: "--max-failures", why };
  }

  private failuresReached(limit: NonNullable<RunLimits["maxFailures"]>): string | null {
    if ("tasks" in limit) return this.failed >= limit.tasks ? `--max-failures ${limit.tasks} is reached` : null;
    const share = this.finished < ENOUGH_FOR_A_SHARE ? 0 : this.failed / this.finished;
    if (share < limit.share) return null;
    return `--max-failures ${limit.share * 100}% is reached: ${this.failed} of ${this.finished} tasks failed`;
  }
}
