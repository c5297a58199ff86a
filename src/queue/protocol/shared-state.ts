// What coordinator and workers tell each other through Redis: the run, its spending, and the workers' state.
import type { Redis } from "ioredis";
import { z } from "zod";
import type { Spending } from "../../models/call-budget.js";
import { LIMIT_REASONS } from "../../models/model.js";
import { jsonObjectSchema, parseJsonOrNull } from "../../platform/json.js";
import { programVersion } from "../../platform/program-files.js";
import { LIMIT_FLAGS, type LimitFlag, type LimitReached, type RunSpending } from "../../runs/budget.js";
import { questionSchema } from "../../tasks/question.js";
import {
  LIMIT_VALUES,
  NO_LIMITS,
  ownRunSettingsSchema,
  type RunLimits,
  runLimitsSchema,
} from "../../traces/run-settings.js";
import {
  compressJson,
  limitKey,
  PREFIX,
  queueName,
  RUNS,
  readCompressed,
  readMessage,
  StrangeMessage,
} from "../connection/redis.js";

/** Milliseconds without an update after which a worker is gone. */
const EXPIRES_MS = 10_000;

/** Set of worker ids. Each worker also has its own key, which expires. */
const WORKERS = `${PREFIX}:workers`;

/** Version of the messages. Increases when a message changes its meaning. */
export const PROTOCOL = 4;

const toolSchema = z.strictObject({
  tool: z.strictObject({
    id: z.string().min(1),
    name: z.string(),
    description: z.string(),
    parametersSchema: jsonObjectSchema,
    handlerKey: z.string(),
    handlerConfig: jsonObjectSchema,
    category: z.string(),
  }),
  config: z.string().nullable(),
});

/**
 * Everything a worker needs to know about a run, read once: the agent's version, its tools, settings and scorers.
 * Contains no key.
 */
export const runManifestSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  runId: z.string().regex(/^run_[\w-]{1,100}$/),
  programVersion: z.string().max(100),
  /** Empty if the tasks do not use the mail. */
  corpusFingerprint: z.string(),
  /** The tasks' suite and the SHA-256 of its task files, or null for questions. */
  suite: z.strictObject({ name: z.string(), digest: z.string() }).nullable(),
  settings: ownRunSettingsSchema,
  tools: z.array(toolSchema),
  requests: z.strictObject({
    timeoutMs: LIMIT_VALUES.taskTimeoutMs,
    rpm: LIMIT_VALUES.rpm.nullable(),
    tpm: LIMIT_VALUES.tpm.nullable(),
    /** Whether to answer from the worker's cache folder, like --cache. */
    cache: z.boolean(),
  }),
});

export type RunManifest = z.output<typeof runManifestSchema>;

export const taskMessageSchema = z.strictObject({
  /** A suite task is sent as its id. Its files are in the worker's own folder. */
  task: z.union([questionSchema.strict(), z.strictObject({ suiteTask: z.string() })]),
  epoch: z.number().int().positive(),
  /** Compressed replies of an interrupted attempt at the task. Absent if there are none. */
  replies: z.string().exactOptional(),
});

export type TaskMessage = z.output<typeof taskMessageSchema>;

/** A worker's result for a task. */
export const resultMessageSchema = z.strictObject({
  worker: z.string(),
  trace: z.string(),
  /** Whether a failure might be the server's fault. It counts only if the server answers again. */
  isHeld: z.boolean(),
  /** Compressed trace of an earlier attempt with paid replies that `trace` does not contain, or null. */
  abandoned: z.string().nullable(),
  /** State of the model's server, as seen by this worker, when the task ended. */
  server: z.enum(["answering", "failing", "unreachable"]),
});

export type ResultMessage = z.output<typeof resultMessageSchema>;

const runOfWorkerSchema = z.object({
  /** The attempt at the run whose manifest the worker has read. */
  attempt: z.string(),
  active: z.number().int().nonnegative(),
  answered: z.number().int().nonnegative(),
  /** Answered tasks per second in the last half minute. */
  perSecond: z.number().nonnegative(),
  /** The limit that its requests are waiting for, or null if they are not waiting. */
  waitingFor: z.enum(LIMIT_REASONS).nullable(),
});

const faultSchema = z.strictObject({ by: z.enum(["key", "account", "model", "tools", "server"]), why: z.string() });

/** A worker's state, which it publishes every second. A later version of art-e may add fields. */
const workerStateSchema = z.object({
  id: z.string().min(1),
  name: z.string(),
  programVersion: z.string(),
  slots: z.number().int().positive(),
  runs: z.record(z.string(), runOfWorkerSchema),
  /** Refused runs, each with the reason. */
  refused: z.record(z.string(), z.string()),
  /** Runs that the worker has left because no further task could succeed. */
  faults: z.record(z.string(), faultSchema),
});

export type WorkerState = z.output<typeof workerStateSchema>;

function workerKey(id: string): string {
  return `${PREFIX}:worker:${id}`;
}

function manifestKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:manifest`;
}

/** Key of a run's spending: cost, tokens, and the numbers of finished and failed tasks. */
function spentKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:spent`;
}

export async function showWorker(redis: Redis, state: WorkerState): Promise<void> {
  await redis.sadd(WORKERS, state.id);
  await redis.set(workerKey(state.id), JSON.stringify(state), "PX", EXPIRES_MS);
}

export async function removeWorker(redis: Redis, id: string): Promise<void> {
  await redis.srem(WORKERS, id);
  await redis.del(workerKey(id));
}

/** Returns the present workers, by name, without unreadable entries. Forgets workers that are gone. */
export async function listWorkers(redis: Redis): Promise<WorkerState[]> {
  const ids = await redis.smembers(WORKERS);
  if (ids.length === 0) return [];
  const texts = await redis.mget(ids.map(workerKey));
  const gone = ids.filter((_, i) => texts[i] === null);
  if (gone.length > 0) await redis.srem(WORKERS, ...gone);
  return texts
    .flatMap((text) => {
      const state = workerStateSchema.safeParse(text == null ? null : parseJsonOrNull(text));
      return state.success ? [state.data] : [];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Starts counting for a new or resumed run. Keeps Redis's counts, which include results that no coordinator has
 * collected yet; `spending` is the spending that the database has recorded.
 */
export async function beginSpending(redis: Redis, runId: string, spending: Spending, limits: RunLimits): Promise<void> {
  const key = spentKey(runId);
  const [cost, tokens] = await redis.hmget(key, "cost", "tokens");
  const max = (there: string | null | undefined, here: number) => Math.max(Number(there ?? 0) || 0, here);
  await redis.hdel(key, "reached", "worker_limits");
  await redis.hset(key, {
    cost: max(cost, spending.costUsd),
    tokens: max(tokens, spending.tokens),
    finished: 0,
    failed: 0,
    limits: JSON.stringify(limits),
  });
}

/** Replaces the limits of a running run. Workers read them before each call. */
export async function changeLimits(redis: Redis, runId: string, limits: RunLimits): Promise<void> {
  await redis.hdel(spentKey(runId), "reached");
  await redis.hset(spentKey(runId), "limits", JSON.stringify(limits));
}

const workerLimitsSchema = z.strictObject({
  rpm: LIMIT_VALUES.rpm.nullable().exactOptional(),
  tpm: LIMIT_VALUES.tpm.nullable().exactOptional(),
  taskTimeoutMs: LIMIT_VALUES.taskTimeoutMs.exactOptional(),
});

/** Limits that replace those of the manifest while the run is running. */
export type WorkerLimits = Readonly<z.output<typeof workerLimitsSchema>>;

/** Workers read them every second. */
export async function changeWorkerLimits(redis: Redis, runId: string, limits: WorkerLimits): Promise<void> {
  await redis.hset(spentKey(runId), "worker_limits", JSON.stringify(limits));
}

export async function readWorkerLimits(redis: Redis, runId: string): Promise<WorkerLimits> {
  const text = await redis.hget(spentKey(runId), "worker_limits");
  return workerLimitsSchema.safeParse(parseJsonOrNull(text ?? "")).data ?? {};
}

export async function readSpending(
  redis: Redis,
  runId: string,
): Promise<{ readonly spending: RunSpending; readonly limits: RunLimits }> {
  const [cost, tokens, finished, failed, limits] = await redis.hmget(
    spentKey(runId),
    "cost",
    "tokens",
    "finished",
    "failed",
    "limits",
  );
  return {
    spending: {
      costUsd: Number(cost ?? 0),
      tokens: Number(tokens ?? 0),
      finished: Number(finished ?? 0),
      failed: Number(failed ?? 0),
    },
    limits: runLimitsSchema.safeParse(parseJsonOrNull(limits ?? "")).data ?? NO_LIMITS,
  };
}

export async function addCall(redis: Redis, runId: string, { costUsd, tokens }: Spending): Promise<void> {
  if (costUsd === 0 && tokens === 0) return;
  const key = spentKey(runId);
  // Not in a transaction, whose commands could not be resent if Redis refuses them.
  await Promise.all([redis.hincrbyfloat(key, "cost", costUsd), redis.hincrby(key, "tokens", tokens)]);
}

export async function addTask(redis: Redis, runId: string, isFailed: boolean): Promise<void> {
  const key = spentKey(runId);
  await Promise.all([redis.hincrby(key, "finished", 1), redis.hincrby(key, "failed", isFailed ? 1 : 0)]);
}

export async function setReachedLimit(redis: Redis, runId: string, reached: LimitReached): Promise<void> {
  await redis.hset(spentKey(runId), "reached", JSON.stringify(reached));
}

const reachedSchema = z.strictObject({
  flag: z.literal(Object.keys(LIMIT_FLAGS) as LimitFlag[]),
  why: z.string(),
});

export async function getReachedLimit(redis: Redis, runId: string): Promise<LimitReached | null> {
  const text = await redis.hget(spentKey(runId), "reached");
  return reachedSchema.safeParse(parseJsonOrNull(text ?? "")).data ?? null;
}

/**
 * Publishes a run to the workers. `attempt` differs for each attempt at the run, because what workers know about an
 * earlier one, such as its limits, might be wrong.
 */
export async function publishRun(redis: Redis, manifest: RunManifest, attempt: string): Promise<void> {
  const text = await compressJson(`The description of run ${manifest.runId}`, manifest);
  await redis.set(manifestKey(manifest.runId), text);
  await redis.hset(RUNS, manifest.runId, attempt);
}

export async function isPublished(redis: Redis, runId: string): Promise<boolean> {
  return (await redis.exists(manifestKey(runId))) === 1 && (await redis.hexists(RUNS, runId)) === 1;
}

/** Returns the runs on the queue, each with its attempt, oldest first. Run ids start with their time. */
export async function listPublishedRuns(redis: Redis): Promise<ReadonlyMap<string, string>> {
  const runs = Object.entries(await redis.hgetall(RUNS));
  return new Map(runs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Part of the manifest of every version of art-e. */
const startedBySchema = runManifestSchema.pick({ programVersion: true }).extend({ protocol: z.int() }).loose();

/**
 * Returns a run's manifest, or null if the run is gone. Throws a `StrangeMessage` if the manifest is invalid, which
 * names the versions if they are the reason.
 */
export async function readPublishedRun(redis: Redis, runId: string): Promise<RunManifest | null> {
  const text = await redis.get(manifestKey(runId));
  if (text === null) return null;
  const what = `The description of run ${runId}`;
  const value = await readCompressed(what, text, startedBySchema);
  try {
    return readMessage(what, value, runManifestSchema);
  } catch (error) {
    throw isSameVersion(value) ? error : new StrangeMessage(otherVersion(value));
  }
}

type StartedBy = Pick<z.output<typeof startedBySchema>, "protocol" | "programVersion">;

export function isSameVersion(startedBy: StartedBy): boolean {
  return startedBy.protocol === PROTOCOL && startedBy.programVersion === programVersion();
}

/** Returns why this program does not answer a run of another version. */
export function otherVersion({ protocol, programVersion: version }: StartedBy): string {
  return `it was started by art-e ${version} (queue protocol ${protocol}), and this is art-e ${programVersion()} (${PROTOCOL})`;
}

export async function withdrawRun(redis: Redis, runId: string): Promise<void> {
  await redis.hdel(RUNS, runId);
  await redis.del(manifestKey(runId), spentKey(runId), limitKey(runId, "requests"), limitKey(runId, "tokens"));
}
