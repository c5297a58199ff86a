/** Names of what this program has in Redis. BullMQ's own keys begin alike, with its names behind. */

export const PREFIX = "art-e";

/** A set of the ids of runs on the queue. */
export const RUNS = `${PREFIX}:runs`;

/** A set of the ids of workers. Each has a key of its own that expires. */
export const WORKERS = `${PREFIX}:workers`;

export function workerKey(id: string): string {
  return `${PREFIX}:worker:${id}`;
}

/** In braces, so that all keys of a run lie on one node of a cluster. */
export function queueName(runId: string): string {
  return `{${runId}}`;
}

export function manifestKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:manifest`;
}

/** What a run has spent: cost, tokens, tasks finished and failed. */
export function spentKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:spent`;
}
