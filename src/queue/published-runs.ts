import type { Redis } from "ioredis";
import { compressJson, readCompressed } from "./compress-json.js";
import { manifestKey, RUNS } from "./keys.js";
import { type RunManifest, runManifestSchema } from "./messages.js";

/** Puts a run where workers find it, or what is known of it in place of what was. */
export async function publishRun(redis: Redis, manifest: RunManifest): Promise<void> {
  const text = await compressJson(`The description of run ${manifest.runId}`, manifest);
  await redis.set(manifestKey(manifest.runId), text);
  await redis.sadd(RUNS, manifest.runId);
}

export async function isPublished(redis: Redis, runId: string): Promise<boolean> {
  return (await redis.exists(manifestKey(runId))) === 1 && (await redis.sismember(RUNS, runId)) === 1;
}

/** Ids of the runs on the queue; they begin with their time. */
export async function listPublishedRuns(redis: Redis): Promise<string[]> {
  return (await redis.smembers(RUNS)).sort();
}

/** Null where the run is gone. Throws a `StrangeMessage` for anything that this program has not written. */
export async function readPublishedRun(redis: Redis, runId: string): Promise<RunManifest | null> {
  const text = await redis.get(manifestKey(runId));
  return text === null ? null : readCompressed(`The description of run ${runId}`, text, runManifestSchema);
}

export async function withdrawRun(redis: Redis, runId: string): Promise<void> {
  await redis.srem(RUNS, runId);
  await redis.del(manifestKey(runId));
}
