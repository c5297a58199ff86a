import type { Redis } from "ioredis";
import { parseJsonOrNull } from "../platform/parse-json.js";
import { WORKERS, workerKey } from "./keys.js";
import { type WorkerState, workerStateSchema } from "./messages.js";

/** A worker that has not shown itself for so long is gone. */
const EXPIRES_MS = 10_000;

export async function showWorker(redis: Redis, state: WorkerState): Promise<void> {
  await redis.sadd(WORKERS, state.id);
  await redis.set(workerKey(state.id), JSON.stringify(state), "PX", EXPIRES_MS);
}

export async function removeWorker(redis: Redis, id: string): Promise<void> {
  await redis.srem(WORKERS, id);
  await redis.del(workerKey(id));
}

/** The workers that are there, by name; what cannot be read is left out. Forgets those that are gone. */
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
