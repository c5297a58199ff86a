import { type Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { readMessage, StrangeMessage } from "./compress-json.js";
import { PREFIX, queueName } from "./keys.js";
import { type ResultMessage, resultMessageSchema, type TaskMessage } from "./messages.js";

/** BullMQ writes every event of a job, its result included, to a stream that nobody reads here. */
const EVENTS_KEPT = 10;

/** A task that came back: with its result, or with why it has none. */
export type FinishedTask =
  | { readonly id: string; readonly result: ResultMessage }
  | { readonly id: string; readonly failure: string };

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly finished: number;
}

/** The id of a task on its run's queue: equal for equal tasks, so that adding one twice adds it once. */
export function taskKey(taskId: string | number, epoch: number): string {
  return `e${epoch}-${encodeURIComponent(taskId)}`;
}

/** The tasks of one run in Redis, as its coordinator sees them. */
export class RunQueue {
  private readonly queue: Queue;

  constructor(
    private readonly redis: Redis,
    runId: string,
    /** Look at what is there, and make no key. */
    { isVisitor = false }: { readonly isVisitor?: boolean } = {},
  ) {
    this.queue = new Queue(queueName(runId), {
      connection: redis,
      prefix: PREFIX,
      skipMetasUpdate: isVisitor,
      streams: { events: { maxLen: EVENTS_KEPT } },
    });
    // What concerns the connection is reported by whoever opened it; commands reject by themselves.
    this.queue.on("error", () => undefined);
  }

  /** Tasks that are on the queue already stay as they are. */
  async add(tasks: readonly { readonly id: string; readonly message: TaskMessage }[]): Promise<void> {
    const jobs = tasks.map(({ id, message }) => ({ name: "task", data: message, opts: { jobId: id, attempts: 1 } }));
    await this.queue.addBulk(jobs);
  }

  /** Ids of the tasks that have come back, oldest first; they stay until they are removed. */
  async finishedIds(limit: number): Promise<string[]> {
    return this.queue.getRanges(["completed", "failed"], 0, limit - 1, true);
  }

  async read(ids: readonly string[]): Promise<FinishedTask[]> {
    const jobs: (Job | undefined)[] = await Promise.all(ids.map((id) => this.queue.getJob(id)));
    return jobs.flatMap((job) => (job === undefined ? [] : [toFinished(job)]));
  }

  /** Those of the tasks that are not on the queue. */
  async missing(ids: readonly string[]): Promise<string[]> {
    const found = await Promise.all(ids.map((id) => this.redis.exists(this.queue.toKey(id))));
    return ids.filter((_, i) => found[i] === 0);
  }

  async remove(id: string): Promise<void> {
    await this.queue.remove(id);
  }

  async counts(): Promise<QueueCounts> {
    const {
      wait = 0,
      active = 0,
      completed = 0,
      failed = 0,
    } = await this.queue.getJobCounts("wait", "active", "completed", "failed");
    return { waiting: wait, active, finished: completed + failed };
  }

  /** From here on no worker takes a task. */
  async pause(): Promise<void> {
    await this.queue.pause();
  }

  async resume(): Promise<void> {
    await this.queue.resume();
  }

  /** Removes the tasks that no worker has taken. */
  async drain(): Promise<void> {
    await this.queue.drain(true);
  }

  /** Removes all there is of the run's tasks, also of those that workers have. */
  async obliterate(): Promise<void> {
    await this.queue.obliterate({ force: true });
  }

  async close(): Promise<void> {
    await this.queue.close();
  }
}

function toFinished(job: Job): FinishedTask {
  const id = job.id ?? "";
  if (job.failedReason) return { id, failure: job.failedReason };
  try {
    return { id, result: readMessage("a result", job.returnvalue, resultMessageSchema) };
  } catch (error) {
    if (error instanceof StrangeMessage) return { id, failure: error.message };
    throw error;
  }
}
