import type { Redis } from "ioredis";
import { compressJson, readCompressed } from "./compress-json.js";
import { limitKey, manifestKey, RUNS, spentKey } from "./keys.js";
import { type RunManifest, runManifestSchema } from "./messages.js";

/**
 * Puts a run where workers find it. `attempt` is another one for each attempt at the run: what workers know of an
 * earlier one, such as its limits, may be wrong.
 */
export async function publishRun(redis: Redis, manifest: RunManifest, attempt: string): Promise<void> {
  const text = await compressJson(`The description of run ${manifest.runId}`, manifest);
  await redis.set(manifestKey(manifest.runId), text);
  await redis.hset(RUNS, manifest.runId, attempt);
}

export async function isPublished(redis: Redis, runId: string): Promise<boolean> {
  return (await redis.exists(manifestKey(runId))) === 1 && (await redis.hexists(RUNS, runId)) === 1;
}

/** The runs on the queue, each with its attempt, oldest first: their ids begin with their time. */
export async function listPublishedRuns(redis: Redis): Promise<ReadonlyMap<string, string>> {
  const runs = Object.entries(await redis.hgetall(RUNS));
  return new Map(runs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Null where the run is gone. Throws a `StrangeMessage` for anything that this program has not written. */
export async function readPublishedRun(redis: Redis, runId: string): Promise<RunManifest | null> {
  const text = await redis.get(manifestKey(runId));
  return text === null ? null : readCompressed(`The description of run ${runId}`, text, runManifestSchema);
}

export async function withdrawRun(redis: Redis, runId: string): Promise<void> {
  await redis.hdel(RUNS, runId);
  await redis.del(manifestKey(runId), spentKey(runId), limitKey(runId, "requests"), limitKey(runId, "tokens"));
}
