import { type Job, UnrecoverableError, WaitingError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { readMessage, StrangeMessage } from "./compress-json.js";
import { PREFIX, queueName, RUNS } from "./keys.js";
import { type ResultMessage, type TaskMessage, taskMessageSchema } from "./messages.js";
import { RunQueue } from "./run-queue.js";

/** A task that kills its worker so often is not given to another. */
const DEATHS = 3;

export interface TaskWorkerOptions {
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

  /** Takes no further task. */
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

  /** Ends when nothing is under way. */
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
