import type { Redis } from "ioredis";
import { StrangeMessage } from "../../queue/compress-json.js";
import { parseQueueUrl } from "../../queue/queue-url.js";
import { connectRedis } from "../../queue/redis-connection.js";
import { listPublishedRuns, readPublishedRun, withdrawRun } from "../../queue/run-manifests.js";
import { type QueueCounts, RunQueue } from "../../queue/run-queue.js";
import { listWorkers } from "../../queue/worker-presence.js";
import { shorten } from "./refuse-run.js";

export interface QueuedRun extends QueueCounts {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly corpus: string;
  readonly workers: readonly string[];
  /** Why its description cannot be used; null where it can. */
  readonly fault: string | null;
}

export interface QueueStatus {
  /** The server, without its password. */
  readonly queue: string;
  readonly runs: readonly QueuedRun[];
  readonly workers: readonly {
    readonly name: string;
    readonly version: string;
    readonly runs: readonly string[];
    readonly underWay: number;
    readonly answered: number;
  }[];
}

/** What is on a queue, and who answers. */
export function readQueueStatus(url: string): Promise<QueueStatus> {
  return withQueue(url, async (redis, shown) => {
    const workers = await listWorkers(redis);
    const ids = [...(await listPublishedRuns(redis)).keys()];
    const runs: QueuedRun[] = [];
    for (const runId of ids) {
      const names = workers.filter((worker) => worker.runs[runId] !== undefined).map(({ name }) => name);
      runs.push({ ...(await describeRun(redis, runId)), workers: names });
    }
    return {
      queue: shown,
      runs,
      workers: workers.map(({ name, programVersion, runs: own }) => ({
        name,
        version: programVersion,
        runs: Object.keys(own),
        underWay: Object.values(own).reduce((sum, { active }) => sum + active, 0),
        answered: Object.values(own).reduce((sum, { answered }) => sum + answered, 0),
      })),
    };
  });
}

/** Removes runs from a queue, with the results that nobody has taken in. Returns which were there. */
export function cleanQueue(url: string, only: string | undefined): Promise<readonly string[]> {
  return withQueue(url, async (redis) => {
    const ids = [...(await listPublishedRuns(redis)).keys()];
    const chosen = only === undefined ? ids : ids.filter((runId) => runId.startsWith(only));
    for (const runId of chosen) {
      const queue = new RunQueue(redis, runId, { isVisitor: true });
      await queue.obliterate();
      await queue.close();
      await withdrawRun(redis, runId);
    }
    return chosen;
  });
}

async function describeRun(redis: Redis, runId: string): Promise<Omit<QueuedRun, "workers">> {
  const queue = new RunQueue(redis, runId, { isVisitor: true });
  const counts = await queue.counts();
  await queue.close();
  try {
    const manifest = await readPublishedRun(redis, runId);
    if (manifest === null) throw new StrangeMessage("its description is missing");
    const { settings, corpusFingerprint } = manifest;
    const { agentId, model } = settings;
    return { runId, agentId, model, corpus: shorten(corpusFingerprint), ...counts, fault: null };
  } catch (error) {
    if (!(error instanceof StrangeMessage)) throw error;
    return { runId, agentId: "", model: "", corpus: "", ...counts, fault: error.message };
  }
}

async function withQueue<T>(url: string, use: (redis: Redis, shown: string) => Promise<T>): Promise<T> {
  const address = parseQueueUrl(url);
  const redis = await connectRedis(address, { lost: () => undefined, restored: () => undefined });
  try {
    return await use(redis, address.shown);
  } finally {
    redis.disconnect();
  }
}
