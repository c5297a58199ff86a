// The limits of a run on money, tokens, time and failures, and what it has spent.
import { BudgetReached, type CallBudget, type Spending } from "../models/call-budget.js";
import type { PriceOf } from "../models/model.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import type { ExecutedRunSettings, RunLimits } from "../traces/run-settings.js";
import type { TaskCost } from "../traces/task-result.js";

/** Minimum number of finished tasks before the share of failures is checked. */
const ENOUGH_FOR_A_SHARE = 20;

/** Limit flags with their units. */
export const LIMIT_FLAGS = {
  "--max-cost": "USD",
  "--max-run-tokens": "N",
  "--max-time": "MINUTES",
  "--max-failures": "N",
} as const;

export type LimitFlag = keyof typeof LIMIT_FLAGS;

export interface LimitReached {
  readonly flag: LimitFlag;
  readonly why: string;
}

export interface RunSpending extends Spending {
  /** Number of tasks that finished since the run was started or resumed. */
  readonly finished: number;
  readonly failed: number;
}

/** Returns the reached limit, or null. Ignores the time limit. */
export function limitReached(
  limits: RunLimits,
  { costUsd, tokens, finished, failed }: RunSpending,
): LimitReached | null {
  const { maxCostUsd, maxTokens, maxFailures } = limits;
  if (maxCostUsd !== null && costUsd >= maxCostUsd) {
    return {
      flag: "--max-cost",
      why: `--max-cost ${maxCostUsd} is reached: $${costUsd.toFixed(4)} spent, including judging`,
    };
  }
  if (maxTokens !== null && tokens >= maxTokens) {
    return { flag: "--max-run-tokens", why: `--max-run-tokens ${maxTokens} is reached: ${tokens} used` };
  }
  const why = maxFailures === null ? null : failuresReached(maxFailures, finished, failed);
  return why === null ? null : { flag: "--max-failures", why };
}

type FailureLimit = NonNullable<RunLimits["maxFailures"]>;

function failuresReached(limit: FailureLimit, finished: number, failed: number): string | null {
  const reached = `--max-failures ${failuresText(limit)} is reached`;
  if ("tasks" in limit) return failed >= limit.tasks ? reached : null;
  const share = finished < ENOUGH_FOR_A_SHARE ? 0 : failed / finished;
  return share < limit.share ? null : `${reached}: ${failed} of ${finished} tasks failed`;
}

/** Formats a limit as in its flag. A percentage is rounded, because 0.07 times 100 is not exactly 7. */
export function failuresText(limit: FailureLimit): string {
  return "tasks" in limit ? `${limit.tasks}` : `${Number((limit.share * 100).toFixed(6))}%`;
}

/** Assumed number of tokens that each turn adds to the next input, used before any task has ended. */
const TOKENS_READ_PER_TURN = 2_000;

/** Assumed maximum tokens per reply of an external agent, whose own limit is unknown. */
const TOKENS_WRITTEN_PER_TURN = 2_048;

/** Returns the maximum cost of a task within its limits: all turns, each with a full-length reply. */
export function mostOfTask(settings: ExecutedRunSettings, priceOf: PriceOf): Spending {
  const { maxTurns } = settings;
  const outputTokens =
    settings.kind === "own" ? (settings.sent?.maxTokens ?? settings.maxTokens) : TOKENS_WRITTEN_PER_TURN;
  const maxTaskCostUsd = settings.kind === "own" ? settings.maxTaskCostUsd : null;
  let costUsd = 0;
  let tokens = 0;
  for (let turn = 1; turn <= maxTurns; turn++) {
    const inputTokens = turn * TOKENS_READ_PER_TURN;
    costUsd += priceOf({ inputTokens, outputTokens, cachedInputTokens: 0 }) ?? 0;
    tokens += inputTokens + outputTokens;
  }
  return { costUsd: Math.min(costUsd, maxTaskCostUsd ?? costUsd), tokens };
}

/** Relative tolerance for sums of floats that should be equal. */
const ROUNDING = 1e-9;

/** Running mean and standard deviation (Welford's algorithm). */
class TaskMean {
  n = 0;
  private mean = 0;
  private squares = 0;

  add(value: number): void {
    this.n++;
    const delta = value - this.mean;
    this.mean += delta / this.n;
    this.squares += delta * (value - this.mean);
  }

  /** Returns the assumed next value: the mean plus one standard deviation. */
  next(): number {
    return this.mean + Math.sqrt(this.squares / Math.max(1, this.n));
  }
}

/**
 * Tracks a run's spending per call, including earlier attempts, against its limits. A task starts only if there is room
 * for its possible cost and for the remaining possible cost of running tasks. If a limit is reached anyway, no further
 * call is made. Only calls that are already running can therefore exceed a limit. An external agent does not see the
 * budget, because its entire answer is one call.
 */
export class Budget {
  private costUsd = 0;
  private tokens = 0;
  private finished = 0;
  private failed = 0;
  private readonly underWay = new Set<TaskBudget>();
  private readonly costs = new TaskMean();
  private readonly tokensOfTasks = new TaskMean();
  private sharedLimit: LimitReached | null = null;
  private until: number;
  private readonly startedAt: number;

  /**
   * @param first assumed cost of a task until the first one has ended
   * @param workedMs duration of earlier attempts, in milliseconds
   */
  constructor(
    private current: RunLimits,
    private readonly first: Spending,
    private readonly workedMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.startedAt = now();
    this.until = this.endOf(current);
  }

  get limits(): RunLimits {
    return this.current;
  }

  /** Replaces the limits during the run. A lower limit can be reached immediately. */
  setLimits(limits: RunLimits): void {
    this.current = limits;
    this.until = this.endOf(limits);
    this.sharedLimit = null;
  }

  private endOf({ maxTimeMs }: RunLimits): number {
    return maxTimeMs === null ? Number.POSITIVE_INFINITY : this.startedAt + maxTimeMs - this.workedMs;
  }

  /**
   * Adds the cost of a task from an earlier attempt, without cached replies. Its failure does not count. If `isPart` is
   * true, it is not the cost of an entire task.
   */
  charge(cost: TaskCost, isPart = false): void {
    const spending = spendingOf(cost);
    this.add(spending);
    if (!isPart) this.learn(spending);
  }

  /** @param stored cost of the task's stored replies, which is already charged */
  start(stored?: TaskCost): TaskBudget {
    const task = new TaskBudget(this, stored === undefined ? { costUsd: 0, tokens: 0 } : spendingOf(stored));
    this.underWay.add(task);
    return task;
  }

  add({ costUsd, tokens }: Spending): void {
    this.costUsd += costUsd;
    this.tokens += tokens;
  }

  /** `ending` is null if the task is left for a resume. */
  end(task: TaskBudget, ending: Ending | null): void {
    this.underWay.delete(task);
    if (ending === null) return;
    this.learn(task.spent);
    this.finished++;
    if (isFailure(ending)) this.failed++;
  }

  get spent(): RunSpending {
    const { costUsd, tokens, finished, failed } = this;
    return { costUsd, tokens, finished, failed };
  }

  /** Sets a limit that is reached if the spending of other workers is included. */
  setReached(limit: LimitReached): void {
    this.sharedLimit = limit;
  }

  /** Whether one more task can start now. Also false if it has to wait for running tasks. */
  hasRoom(): boolean {
    return this.reached() === null && this.lacking() === null;
  }

  /** Returns the limit that prevents further tasks, or null if one can start now or after a running task ends. */
  reached(): LimitReached | null {
    const limit = limitReached(this.limits, this.spent) ?? this.sharedLimit;
    if (limit !== null && limit.flag !== "--max-failures") return limit;
    if (this.now() >= this.until) return { flag: "--max-time", why: "--max-time is over" };
    return limit ?? (this.underWay.size === 0 ? this.lacking() : null);
  }

  /** Returns the cost or token limit that the calls so far have reached, or null. */
  spentLimit(): LimitReached | null {
    const limit = limitReached({ ...this.limits, maxFailures: null }, this.spent) ?? this.sharedLimit;
    return limit?.flag === "--max-cost" || limit?.flag === "--max-run-tokens" ? limit : null;
  }

  private learn({ costUsd, tokens }: Spending): void {
    this.costs.add(costUsd);
    this.tokensOfTasks.add(tokens);
  }

  /** Returns the limit that leaves no room for one more task, or null. The very first task always starts. */
  private lacking(): LimitReached | null {
    const { maxCostUsd, maxTokens } = this.limits;
    if (this.costs.n === 0 && this.underWay.size === 0) return null;
    const { costUsd, tokens } = this.spent;
    const nextCost = this.costs.n === 0 ? this.first.costUsd : this.costs.next();
    if (maxCostUsd !== null && costUsd + this.reserved(nextCost, "costUsd") > maxCostUsd * (1 + ROUNDING)) {
      const why = `$${costUsd.toFixed(4)} spent, including judging, and another task might cost $${nextCost.toFixed(4)}`;
      return { flag: "--max-cost", why: `--max-cost ${maxCostUsd} is reached: ${why}` };
    }
    const nextTokens = this.costs.n === 0 ? this.first.tokens : this.tokensOfTasks.next();
    if (maxTokens !== null && tokens + this.reserved(nextTokens, "tokens") > maxTokens * (1 + ROUNDING)) {
      const why = `${tokens} used, and another task might use ${Math.ceil(nextTokens)}`;
      return { flag: "--max-run-tokens", why: `--max-run-tokens ${maxTokens} is reached: ${why}` };
    }
    return null;
  }

  private reserved(each: number, what: keyof Spending): number {
    let sum = each;
    for (const { spent } of this.underWay) sum += Math.max(0, each - spent[what]);
    return sum;
  }
}

export class TaskBudget implements CallBudget {
  /** @param spent what the task has cost so far */
  constructor(
    private readonly run: Budget,
    public spent: Spending,
  ) {}

  async beforeCall(): Promise<void> {
    const limit = this.run.spentLimit();
    if (limit !== null) throw new BudgetReached(limit.why);
  }

  async afterCall(call: Spending): Promise<void> {
    this.spent = { costUsd: this.spent.costUsd + call.costUsd, tokens: this.spent.tokens + call.tokens };
    this.run.add(call);
  }

  /** `cost` covers the entire task, as far as it is known. `ending` is null if the task is left for a resume. */
  async end(cost: TaskCost | null, ending: Ending | null): Promise<void> {
    if (cost !== null) await this.afterCall(uncounted(spendingOf(cost), this.spent));
    this.run.end(this, ending);
  }
}

/**
 * Returns a trace's spending beyond the counted calls: an external agent makes its own calls, which are not counted.
 */
function uncounted(trace: Spending, calls: Spending): Spending {
  return {
    costUsd: Math.max(0, trace.costUsd - calls.costUsd),
    tokens: Math.max(0, trace.tokens - calls.tokens),
  };
}

/** Returns the spending of a task: the cost including its judge, and the agent's tokens. */
function spendingOf({ spent, judgeCostUsd }: TaskCost): Spending {
  return {
    costUsd: (spent.costUsd ?? 0) + (judgeCostUsd ?? 0),
    tokens: spent.usage.inputTokens + spent.usage.outputTokens,
  };
}
