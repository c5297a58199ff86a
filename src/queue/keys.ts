/** Names of what this program has in Redis. BullMQ's own keys begin alike, with its names behind. */

export const PREFIX = "art-e";

/** The runs on the queue, by id, each with the attempt at it. */
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

/** What model calls of a run are counted under. */
export function limitKey(runId: string, what: "requests" | "tokens"): string {
  return `${PREFIX}:${queueName(runId)}:${what}`;
}

/** Of an account whose server has refused a call. */
export function pauseKey(account: string): string {
  return `${PREFIX}:pause:${account}`;
}
