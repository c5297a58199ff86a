import { type Job, Queue, UnrecoverableError, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { PREFIX, queueName, RUNS, readMessage, StrangeMessage } from "./redis.js";
import { type ResultMessage, resultMessageSchema, type TaskMessage, taskMessageSchema } from "./shared-state.js";

/** A task that kills its worker so often is not given to another. */
const DEATHS = 3;

interface TaskWorkerOptions {
  readonly runId: string;
  readonly name: string;
  readonly slots: number;
  /** A worker that is silent for so long has lost its tasks. */
  readonly lockMs: number;
  /** Null: the task goes back to the queue. Throws only for bugs, which end the task as failed. */
  answer(message: TaskMessage, signal: AbortSignal): Promise<ResultMessage | null>;
  /** A result that came too late: another worker has the task. */
  onDropped(taskId: string): void;
}

/** Takes tasks of one run from the queue, and answers them. */
export class TaskWorker {
  private readonly worker: Worker;
  /** Results that Redis has not confirmed. */
  private readonly sent = new Set<string>();

  constructor(
    private readonly redis: Redis,
    private readonly options: TaskWorkerOptions,
  ) {
    const { runId, name, slots, lockMs } = options;
    this.worker = new Worker(queueName(runId), (job, token, signal) => this.process(job, token, signal), {
      connection: redis,
      prefix: PREFIX,
      name,
      concurrency: slots,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      maxStalledCount: DEATHS - 1,
    });
    this.worker.on("completed", ({ id }) => this.sent.delete(id ?? ""));
    this.worker.on("error", (error) => {
      // BullMQ has no other sign of it. What concerns the connection is reported by whoever opened it.
      const [, id = ""] = /\bfor job (\S+?)\.? /.exec(`${error.message} `) ?? [];
      this.drop(id);
    });
  }

  setSlots(slots: number): void {
    if (this.worker.concurrency !== slots) this.worker.concurrency = slots;
  }

  async pause(): Promise<void> {
    await this.worker.pause(true);
  }

  /** From here on no worker takes a task of the run. */
  async pauseAll(): Promise<void> {
    const queue = new RunQueue(this.redis, this.options.runId, { isVisitor: true });
    await queue.pause();
    await queue.close();
  }

  /** Aborts what is under way; its tasks go back to the queue. */
  abort(): void {
    this.worker.cancelAllJobs("the worker stops");
  }

  async close(): Promise<void> {
    await this.worker.close();
    // A worker that closes does not report what Redis refuses.
    for (const id of this.sent) this.drop(id);
    await this.removeLeftovers();
  }

  /** BullMQ's checks for stalled tasks make keys anew where a run is gone. */
  private async removeLeftovers(): Promise<void> {
    const { runId } = this.options;
    if (this.redis.status !== "ready" || (await this.redis.hexists(RUNS, runId)) === 1) return;
    const key = (name: string) => `${PREFIX}:${queueName(runId)}:${name}`;
    await this.redis.del(key("meta"), key("stalled-check"), key("events"));
  }

  private async process(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<ResultMessage> {
    const message = this.read(job);
    const result = await this.options.answer(message, signal ?? new AbortController().signal);
    if (result !== null) {
      this.sent.add(job.id ?? "");
      return result;
    }
    await job.moveToWait(token);
    throw new WaitingError();
  }

  private drop(id: string): void {
    if (this.sent.delete(id)) this.options.onDropped(id);
  }

  private read(job: Job): TaskMessage {
    try {
      return readMessage(`Task ${job.id}`, job.data, taskMessageSchema);
    } catch (error) {
      if (error instanceof StrangeMessage) throw new UnrecoverableError(error.message);
      throw error;
    }
  }
}

/** BullMQ writes every event of a job, its result included, to a stream that nobody reads here. */
const EVENTS_KEPT = 10;

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

  async pause(): Promise<void> {
    await this.queue.pause();
  }

  async resume(): Promise<void> {
    await this.queue.resume();
  }

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
