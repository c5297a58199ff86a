import { type Ending, isFailure } from "../tasks/ending.js";
import type { RunLimits } from "../traces/run-settings.js";
import type { TaskCost } from "../traces/task-result.js";

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

export function isLimitFlag(flag: string): flag is LimitFlag {
  return Object.hasOwn(LIMIT_FLAGS, flag);
}

/** Why no further task may start. */
export interface LimitReached {
  readonly flag: LimitFlag;
  readonly why: string;
}

/** What a run has spent so far. */
export interface Spent {
  readonly costUsd: number;
  readonly tokens: number;
  /** Since it was begun or resumed. */
  readonly finished: number;
  readonly failed: number;
}

/** The limit that is reached, time aside; null: none. */
export function limitReached(limits: RunLimits, { costUsd, tokens, finished, failed }: Spent): LimitReached | null {
  const { maxCostUsd, maxTokens, maxFailures } = limits;
  if (maxCostUsd !== null && costUsd >= maxCostUsd) {
    return { flag: "--max-cost", why: `--max-cost ${maxCostUsd} is reached: $${costUsd.toFixed(4)} spent` };
  }
  if (maxTokens !== null && tokens >= maxTokens) {
    return { flag: "--max-run-tokens", why: `--max-run-tokens ${maxTokens} is reached: ${tokens} used` };
  }
  const why = maxFailures === null ? null : failuresReached(maxFailures, finished, failed);
  return why === null ? null : { flag: "--max-failures", why };
}

function failuresReached(
  limit: NonNullable<RunLimits["maxFailures"]>,
  finished: number,
  failed: number,
): string | null {
  if ("tasks" in limit) return failed >= limit.tasks ? `--max-failures ${limit.tasks} is reached` : null;
  const share = finished < ENOUGH_FOR_A_SHARE ? 0 : failed / finished;
  if (share < limit.share) return null;
  return `--max-failures ${limit.share * 100}% is reached: ${failed} of ${finished} tasks failed`;
}

/** What the finished tasks of a run have cost, earlier attempts included, against its limits. */
export class Budget {
  private costUsd = 0;
  private tokens = 0;
  private finished = 0;
  private failed = 0;
  private elsewhere: LimitReached | null = null;
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

  get spent(): Spent {
    const { costUsd, tokens, finished, failed } = this;
    return { costUsd, tokens, finished, failed };
  }

  /** A limit that was found to be reached by what is counted elsewhere too. */
  setReached(limit: LimitReached): void {
    this.elsewhere = limit;
  }

  /** Null while a further task may start. */
  reached(): LimitReached | null {
    const limit = limitReached(this.limits, this.spent) ?? this.elsewhere;
    if (limit !== null && limit.flag !== "--max-failures") return limit;
    return this.now() >= this.until ? { flag: "--max-time", why: "--max-time is over" } : limit;
  }
}
