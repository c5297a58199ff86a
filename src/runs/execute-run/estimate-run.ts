// Estimates the tokens, cost and duration of a run for `--dry-run`, without calling a model.
import type { ExpectedStop } from "../../analysis/sequential-comparison.js";
import { isRemote } from "../../models/model-names.js";
import { cacheWrites, type Usage } from "../../models/usage.js";
import type { Until } from "../../results/claim-watch.js";
import type { Db } from "../../store/open-store.js";
import { type AverageTask, averageTask } from "../../traces/results-store.js";
import type { RunPlan } from "../plan-run.js";
import type { RunOptions } from "../run-flags.js";

export interface RunEstimate {
  readonly agentId: string;
  readonly model: string;
  readonly tasks: number;
  readonly usage: Usage;
  /** Cost without the judge in US dollars, or null if the price is unknown. */
  readonly costUsd: number | null;
  readonly judge: string | null;
  readonly judgeCalls: number;
  readonly seconds: number;
  /** Number of earlier tasks that the estimate is based on, or null for a guess. */
  readonly basis: number | null;
  /** Expected number of questions with `--until` at several true gains, or null without a claim. */
  readonly until: readonly ExpectedStop[] | null;
}

/** Typical usage per task for an agent that searches and reads, with most models. Used if there is no earlier run. */
const GUESS: AverageTask = {
  tasks: 0,
  inputTokens: 14_000,
  outputTokens: 500,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  turns: 4,
  seconds: 12,
};

/** Assumed number of concurrent tasks for `auto`. */
const AUTO_CONCURRENCY = 20;

/** Estimates a run based on earlier runs of the same agent and model, otherwise based on a guess. */
export async function estimateRun(
  db: Db,
  plan: RunPlan,
  until: Until | null,
  options: RunOptions,
): Promise<RunEstimate> {
  const { settings, model } = plan;
  const tasks = await plan.tasks();
  const isLocal = !isRemote(settings.model.split("/")[0] as Parameters<typeof isRemote>[0]);
  const average = averageTask(db, settings.agentId, settings.model);
  const each = average ?? (isLocal ? { ...GUESS, inputTokens: 0, outputTokens: 0, seconds: 0.02 } : GUESS);
  const usage = estimatedUsage(each, tasks, Math.round);
  // Priced per call, like the bill. A higher price for long prompts does not apply to many short ones.
  const calls = Math.max(1, each.turns);
  const costOfCall = model.priceOf(estimatedUsage(each, 1 / calls));
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
    basis: average === null ? null : average.tasks,
    until: until === null ? null : until.expectedStops(Math.round(tasks / settings.epochs)),
  };
}

function estimatedUsage(each: AverageTask, tasks: number, round = (tokens: number) => tokens): Usage {
  return {
    inputTokens: round(each.inputTokens * tasks),
    outputTokens: round(each.outputTokens * tasks),
    cachedInputTokens: round(each.cachedInputTokens * tasks),
    ...cacheWrites(round(each.cacheWriteTokens * tasks)),
  };
}
