import { cacheWrites, type Usage } from "../models/model.js";
import { isRemote } from "../models/names.js";
import type { Db } from "../store/open-store.js";
import { type AverageTask, averageTask } from "../traces/results-store.js";
import type { RunOptions } from "./options.js";
import type { RunPlan } from "./plan.js";

export interface RunEstimate {
  readonly agentId: string;
  readonly model: string;
  readonly tasks: number;
  readonly usage: Usage;
  /** US dollars; null where the price is not known. Without the judge. */
  readonly costUsd: number | null;
  readonly judge: string | null;
  readonly judgeCalls: number;
  readonly seconds: number;
  /** Tasks of earlier runs that the estimate is made from; null: a guess. */
  readonly basis: number | null;
}

/** What a task of an agent that searches and reads takes with most models, where no earlier run tells better. */
const GUESS: AverageTask = {
  tasks: 0,
  inputTokens: 14_000,
  outputTokens: 500,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  turns: 4,
  seconds: 12,
};

/** Tasks at once that `auto` is taken to reach. */
const AUTO_CONCURRENCY = 20;

function usageOf(each: AverageTask, tasks: number): Usage {
  return {
    inputTokens: each.inputTokens * tasks,
    outputTokens: each.outputTokens * tasks,
    cachedInputTokens: each.cachedInputTokens * tasks,
    ...cacheWrites(each.cacheWriteTokens * tasks),
  };
}

function rounded(usage: Usage): Usage {
  return {
    inputTokens: Math.round(usage.inputTokens),
    outputTokens: Math.round(usage.outputTokens),
    cachedInputTokens: Math.round(usage.cachedInputTokens),
    ...cacheWrites(Math.round(usage.cacheWriteTokens ?? 0)),
  };
}

/** By the earlier runs of the same agent and model, else by a guess. */
export async function estimateRun(db: Db, plan: RunPlan, options: RunOptions): Promise<RunEstimate> {
  const { settings, model } = plan;
  const tasks = await plan.tasks();
  const isLocal = !isRemote(settings.model.split("/")[0] as Parameters<typeof isRemote>[0]);
  const known = averageTask(db, settings.agentId, settings.model);
  const each = known ?? (isLocal ? { ...GUESS, inputTokens: 0, outputTokens: 0, seconds: 0.02 } : GUESS);
  const usage = rounded(usageOf(each, tasks));
  // Priced call by call, as it is billed: a higher price for long prompts does not apply to many short ones.
  const calls = Math.max(1, each.turns);
  const costOfCall = model.priceOf(usageOf(each, 1 / calls));
  const concurrency = options.concurrency === "auto" ? AUTO_CONCURRENCY : options.concurrency;
  const byRate = options.rpm === undefined ? 0 : (tasks * each.turns * 60) / options.rpm;
  const { judge } = settings;
  return {
    agentId: settings.agentId,
    model: settings.model,
    tasks,
    usage,
    costUsd: costOfCall === null ? null : costOfCall * calls * tasks,
    judge: judge?.model ?? null,
    judgeCalls: judge === null ? 0 : tasks * judge.votes,
    seconds: Math.max((tasks * each.seconds) / Math.min(concurrency, tasks || 1), byRate),
    basis: known === null ? null : known.tasks,
  };
}
