import { BudgetReached, type CallBudget, type Spending } from "../models/call-budget.js";
import type { PriceOf } from "../models/model.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import type { RunLimits, RunSettings } from "../traces/run-settings.js";
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

export interface LimitReached {
  readonly flag: LimitFlag;
  readonly why: string;
}

export interface RunSpending extends Spending {
  /** Since it was begun or resumed. */
  readonly finished: number;
  readonly failed: number;
}

/** The limit that is reached, time aside; null: none. */
export function limitReached(
  limits: RunLimits,
  { costUsd, tokens, finished, failed }: RunSpending,
): LimitReached | null {
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

/** Tokens that a turn adds to what the next one reads, where nothing is known yet. */
const TOKENS_READ_PER_TURN = 2_000;

/** What a task may cost by its limits: all of its turns, each with a reply of full length. */
export function mostOfTask({ maxTurns, maxTokens, sent, maxTaskCostUsd }: RunSettings, priceOf: PriceOf): Spending {
  const outputTokens = sent?.maxTokens ?? maxTokens;
  let costUsd = 0;
  let tokens = 0;
  for (let turn = 1; turn <= maxTurns; turn++) {
    const inputTokens = turn * TOKENS_READ_PER_TURN;
    costUsd += priceOf({ inputTokens, outputTokens, cachedInputTokens: 0 }) ?? 0;
    tokens += inputTokens + outputTokens;
  }
  return { costUsd: Math.min(costUsd, maxTaskCostUsd ?? costUsd), tokens };
}

/** Sums of floats that should be equal differ by less than this share. */
const ROUNDING = 1e-9;

/** Mean and standard deviation (Welford). */
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

  /** What the next one is taken to be: the mean and one standard deviation. */
  next(): number {
    return this.mean + Math.sqrt(this.squares / Math.max(1, this.n));
  }
}

/**
 * What a run has spent, call by call and earlier attempts included, against its limits. A task starts only if there is
 * room for what it may cost beside what those under way may still cost; where a limit is reached all the same, no
 * further call is made. So a limit is exceeded by the calls under way at most. An external agent is told nothing of
 * it: its answer is one call.
 */
export class Budget {
  private costUsd = 0;
  private tokens = 0;
  private finished = 0;
  private failed = 0;
  private readonly underWay = new Set<TaskBudget>();
  private readonly costs = new TaskMean();
  private readonly tokensOfTasks = new TaskMean();
  private elsewhere: LimitReached | null = null;
  private readonly until: number;

  /**
   * @param first what a task may cost, as long as none has ended
   * @param workedMs time that earlier attempts have taken
   */
  constructor(
    private readonly limits: RunLimits,
    private readonly first: Spending,
    workedMs = 0,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.until = limits.maxTimeMs === null ? Number.POSITIVE_INFINITY : now() + limits.maxTimeMs - workedMs;
  }

  /** Adds what an earlier attempt spent on a task, cached replies aside. Its failure does not count. */
  charge(cost: TaskCost, isSuperseded = false): void {
    const spending = spendingOf(cost);
    this.add(spending);
    if (!isSuperseded) this.learn(spending);
  }

  start(): TaskBudget {
    const task = new TaskBudget(this);
    this.underWay.add(task);
    return task;
  }

  add({ costUsd, tokens }: Spending): void {
    this.costUsd += costUsd;
    this.tokens += tokens;
  }

  /** `ending` null: the task is left for a resume. */
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

  /** A limit that was found to be reached by what is counted elsewhere too. */
  setReached(limit: LimitReached): void {
    this.elsewhere = limit;
  }

  /** Whether one more task can start now. False also where it has to wait for those under way. */
  hasRoom(): boolean {
    return this.reached() === null && this.lacking() === null;
  }

  /** Null while a further task may start, now or when one that is under way has ended. */
  reached(): LimitReached | null {
    const limit = limitReached(this.limits, this.spent) ?? this.elsewhere;
    if (limit !== null && limit.flag !== "--max-failures") return limit;
    if (this.now() >= this.until) return { flag: "--max-time", why: "--max-time is over" };
    return limit ?? (this.underWay.size === 0 ? this.lacking() : null);
  }

  /** The limit in dollars or tokens that the calls made so far have reached. */
  spentLimit(): LimitReached | null {
    const limit = limitReached({ ...this.limits, maxFailures: null }, this.spent) ?? this.elsewhere;
    return limit?.flag === "--max-cost" || limit?.flag === "--max-run-tokens" ? limit : null;
  }

  private learn({ costUsd, tokens }: Spending): void {
    this.costs.add(costUsd);
    this.tokensOfTasks.add(tokens);
  }

  /** The limit that leaves no room for one more task. The first task of all starts in any case. */
  private lacking(): LimitReached | null {
    const { maxCostUsd, maxTokens } = this.limits;
    if (this.costs.n === 0 && this.underWay.size === 0) return null;
    const { costUsd, tokens } = this.spent;
    const nextCost = this.costs.n === 0 ? this.first.costUsd : this.costs.next();
    if (maxCostUsd !== null && costUsd + this.reserved(nextCost, "costUsd") > maxCostUsd * (1 + ROUNDING)) {
      const why = `$${costUsd.toFixed(4)} spent, and a further task may cost $${nextCost.toFixed(4)}`;
      return { flag: "--max-cost", why: `--max-cost ${maxCostUsd} is reached: ${why}` };
    }
    const nextTokens = this.costs.n === 0 ? this.first.tokens : this.tokensOfTasks.next();
    if (maxTokens !== null && tokens + this.reserved(nextTokens, "tokens") > maxTokens * (1 + ROUNDING)) {
      const why = `${tokens} used, and a further task may use ${Math.ceil(nextTokens)}`;
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
  spent: Spending = { costUsd: 0, tokens: 0 };

  constructor(private readonly run: Budget) {}

  async beforeCall(): Promise<void> {
    const limit = this.run.spentLimit();
    if (limit !== null) throw new BudgetReached(limit.why);
  }

  async afterCall(call: Spending): Promise<void> {
    this.spent = { costUsd: this.spent.costUsd + call.costUsd, tokens: this.spent.tokens + call.tokens };
    this.run.add(call);
  }

  /** `cost`: of the task as a whole, as far as it is known; `ending` null: the task is left for a resume. */
  async end(cost: TaskCost | null, ending: Ending | null): Promise<void> {
    if (cost !== null) await this.afterCall(uncounted(spendingOf(cost), this.spent));
    this.run.end(this, ending);
  }
}

/** What a trace has spent beside the calls that were counted: an external agent makes its own. */
function uncounted(trace: Spending, calls: Spending): Spending {
  return {
    costUsd: Math.max(0, trace.costUsd - calls.costUsd),
    tokens: Math.max(0, trace.tokens - calls.tokens),
  };
}

/** What counts of a task: its judge in dollars, and the agent's tokens. */
export function spendingOf({ spent, judgeCostUsd }: TaskCost): Spending {
  return {
    costUsd: (spent.costUsd ?? 0) + (judgeCostUsd ?? 0),
    tokens: spent.usage.inputTokens + spent.usage.outputTokens,
  };
}
