import type { Redis } from "ioredis";
import { z } from "zod";
import { NO_LIMITS, type RunLimits, runLimitsSchema } from "../domain/runs/run-limits.js";
import { parseJsonOrNull } from "../platform/parse-json.js";
import { spentKey } from "./keys.js";

/** What a run has spent at all workers. */
export interface RunSpending {
  readonly costUsd: number;
  readonly tokens: number;
  /** Since the run was begun or resumed. */
  readonly finished: number;
  readonly failed: number;
}

const reachedSchema = z.strictObject({ flag: z.string(), why: z.string() });

/** The limit at which a worker has stopped the run. */
export type ReachedLimit = z.output<typeof reachedSchema>;

/**
 * Begins to count for a run that is begun or resumed. What Redis has counted stays, as it knows of results that no
 * coordinator has taken in yet; `known` is what the database knows of.
 */
export async function beginSpending(
  redis: Redis,
  runId: string,
  known: Pick<RunSpending, "costUsd" | "tokens">,
  limits: RunLimits,
): Promise<void> {
  const key = spentKey(runId);
  const [cost, tokens] = await redis.hmget(key, "cost", "tokens");
  const max = (there: string | null | undefined, here: number) => Math.max(Number(there ?? 0) || 0, here);
  await redis.hdel(key, "reached");
  await redis.hset(key, {
    cost: max(cost, known.costUsd),
    tokens: max(tokens, known.tokens),
    finished: 0,
    failed: 0,
    limits: JSON.stringify(limits),
  });
}

/** Counts a task. Returns what all tasks have spent, and the limits that the run has now. */
export async function addSpending(
  redis: Redis,
  runId: string,
  task: { readonly costUsd: number; readonly tokens: number; readonly isFailed: boolean },
): Promise<{ readonly spending: RunSpending; readonly limits: RunLimits }> {
  const key = spentKey(runId);
  const replies = await redis
    .multi()
    .hincrbyfloat(key, "cost", task.costUsd)
    .hincrby(key, "tokens", task.tokens)
    .hincrby(key, "finished", 1)
    .hincrby(key, "failed", task.isFailed ? 1 : 0)
    .hget(key, "limits")
    .exec();
  const [costUsd, tokens, finished, failed, limits] = (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
  return {
    spending: { costUsd: Number(costUsd), tokens: Number(tokens), finished: Number(finished), failed: Number(failed) },
    limits: runLimitsSchema.safeParse(parseJsonOrNull(`${limits}`)).data ?? NO_LIMITS,
  };
}

export async function setReachedLimit(redis: Redis, runId: string, reached: ReachedLimit): Promise<void> {
  await redis.hset(spentKey(runId), "reached", JSON.stringify(reached));
}

/** Null where no worker has stopped the run. */
export async function getReachedLimit(redis: Redis, runId: string): Promise<ReachedLimit | null> {
  const text = await redis.hget(spentKey(runId), "reached");
  return reachedSchema.safeParse(parseJsonOrNull(text ?? "")).data ?? null;
}
