// The queue of one run's tasks on BullMQ: adding and taking tasks, renewing locks, and results.
import { setTimeout as delay } from "node:timers/promises";
import {
  type BackendFactory,
  createRedisBackend,
  type Job,
  Queue,
  type RedisQueueBackend,
  UnrecoverableError,
  WaitingError,
  Worker,
} from "bullmq";
import type { Redis } from "ioredis";
import { NEVER } from "../../platform/deadline.js";
import { UserError } from "../../platform/errors.js";
import { LONGEST_PAUSE_MS, type QueueConnection } from "../connection/queue-connection.js";
import { PREFIX, queueName, RUNS, readMessage, StrangeMessage } from "../connection/redis.js";
import { type ResultMessage, resultMessageSchema, type TaskMessage, taskMessageSchema } from "./shared-state.js";

/** Number of worker deaths after which a task is not given to another worker. */
const DEATHS = 3;

interface TaskWorkerOptions {
  readonly runId: string;
  readonly name: string;
  readonly slots: number;
  /** Milliseconds without a sign of life after which a worker loses its tasks. */
  readonly lockMs: number;
  /** Resolves with null to put the task back on the queue. Throws only for bugs, which end the task as failed. */
  answer(message: TaskMessage, signal: AbortSignal): Promise<ResultMessage | null>;
  /**
   * Reports a result that Redis did not take, because another worker has the task. If `isResent`, it was sent again
   * after the connection was lost, and Redis may have taken it the first time.
   */
  onDropped(taskId: string, isResent: boolean): void;
  /** Receives permanent Redis errors. */
  onFault(error: UserError): void;
}

export type FinishedTask =
  | { readonly id: string; readonly result: ResultMessage }
  | { readonly id: string; readonly failure: string };

export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly finished: number;
}

/**
 * Renews a task's lock, even after it expired, unless another worker has the task. Locks expire while Redis is away or
 * refuses to renew them.
 */
const RENEW_LOCK = `
local holder = redis.call("GET", KEYS[1])
if holder == ARGV[2] or (not holder and redis.call("LPOS", KEYS[2], ARGV[1])) then
  redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
end`;

/**
 * Postpones the checks for tasks with an expired lock if no worker has sent one for longer than between two checks.
 * Redis was away then: locks expired whose workers are alive and renew them as soon as they notice that it is back.
 */
const POSTPONE_CHECKS = `
if redis.call("EXISTS", KEYS[1]) == 0 then
  redis.call("SET", KEYS[2], "postponed", "PX", ARGV[2])
end
redis.call("SET", KEYS[1], "checked", "PX", ARGV[1])`;

/**
 * Milliseconds after which a task that Redis gave to a worker has reached it, or never will. Replies keep their order,
 * so this only has to outlast BullMQ's steps between the reply and the start of the task.
 */
const ARRIVAL_MS = 1_000;

/** Takes tasks of one run from the queue and answers them. */
export class TaskWorker {
  private readonly worker: Worker;
  /** Results that Redis has not confirmed. */
  private readonly sent = new Set<string>();
  /** Unconfirmed results that were sent again after the connection was lost. */
  private resent: ReadonlySet<string> = new Set();
  /** BullMQ's lock tokens of the running tasks, by task id. */
  private readonly tokens = new Map<string, string>();
  private isPaused = false;
  private backend: RedisQueueBackend | undefined;

  constructor(
    private readonly redis: QueueConnection,
    private readonly options: TaskWorkerOptions,
  ) {
    const { runId, name, slots, lockMs } = options;
    this.worker = new Worker(
      queueName(runId),
      (job, token, signal) => this.process(job, token, signal),
      {
        connection: redis,
        prefix: PREFIX,
        name,
        concurrency: slots,
        lockDuration: lockMs,
        // Locks outlive any outage that is too short to postpone the checks.
        lockRenewTime: lockMs / 4,
        stalledInterval: lockMs / 2,
        maxStalledCount: DEATHS - 1,
      },
      this.createBackend,
    );
    this.worker.on("completed", ({ id }) => this.sent.delete(id ?? ""));
    this.worker.on("error", (error) => {
      if (error instanceof UserError) return options.onFault(error);
      // BullMQ has no other sign of a refused result. The connection's opener reports connection faults.
      const [, id = ""] = /\bjob (\S+?)\.? /i.exec(`${error.message} `) ?? [];
      if ("code" in error && typeof error.code === "number") this.drop(id);
    });
    this.worker.on("lockRenewalFailed", (ids) => {
      for (const id of ids) void this.renewLock(id).catch(() => undefined);
    });
    redis.on("ready", this.onReconnected);
  }

  /** Number of results that Redis has not confirmed. */
  get unconfirmed(): number {
    return this.sent.size;
  }

  setSlots(slots: number): void {
    if (this.worker.concurrency !== slots) this.worker.concurrency = slots;
  }

  async pause(): Promise<void> {
    this.isPaused = true;
    await this.worker.pause(true);
  }

  /** Stops all workers from taking tasks of the run. */
  async pauseAll(): Promise<void> {
    const queue = new RunQueue(this.redis, this.options.runId, { isVisitor: true });
    await queue.pause();
    await queue.close();
  }

  /** Aborts the running tasks, which go back to the queue. */
  abort(): void {
    this.worker.cancelAllJobs("the worker stops");
  }

  /** Closes the worker. Never throws. If the connection is abandoned, `unconfirmed` is the number of unsent results. */
  async close(): Promise<void> {
    this.redis.off("ready", this.onReconnected);
    await this.worker.close();
    if (this.redis.isAbandoned) return;
    // A closing BullMQ worker does not report results that Redis refuses.
    for (const id of this.sent) this.drop(id);
    await this.removeLeftovers().catch(() => undefined);
  }

  /** Removes the keys that BullMQ's checks for stalled tasks create again after a run is gone. */
  private async removeLeftovers(): Promise<void> {
    const { runId } = this.options;
    if (this.redis.isAway || (await this.redis.hexists(RUNS, runId)) === 1) return;
    await this.redis.del(["meta", "stalled-check", "checked", "events"].map((name) => this.key(name)));
  }

  private readonly createBackend: BackendFactory<RedisQueueBackend> = (...settings) => {
    const backend = createRedisBackend(...settings);
    this.backend = backend;
    const check = backend.moveStalledJobsToWait.bind(backend);
    // Both commands are sent, and resent after an outage, in this order.
    backend.moveStalledJobsToWait = async () => (await Promise.all([this.postponeChecks(), check()]))[1];
    return backend;
  };

  private async postponeChecks(): Promise<void> {
    const { lockMs } = this.options;
    const keys = [this.key("checked"), this.key("stalled-check")];
    await this.redis.eval(POSTPONE_CHECKS, 2, ...keys, Math.round(lockMs * 0.7), lockMs + LONGEST_PAUSE_MS);
  }

  private readonly onReconnected = () => {
    this.resent = new Set(this.sent);
    void this.giveBackUnreceived().catch(() => undefined);
  };

  /**
   * Gives back the tasks that Redis gave to this worker in a reply that was lost with the connection. Otherwise the run
   * would wait until their locks expire.
   */
  private async giveBackUnreceived(): Promise<void> {
    const tasks = await Promise.all(
      (await this.redis.lrange(this.key("active"), 0, -1)).map(async (id) => ({
        id,
        token: await this.redis.get(this.key(`${id}:lock`)),
      })),
    );
    await delay(ARRIVAL_MS, undefined, { ref: false });
    for (const { id, token } of tasks) {
      const isOwn = token?.startsWith(`${this.worker.id}:`) === true;
      if (!isOwn || this.tokens.has(id) || this.sent.has(id)) continue;
      // It fails if another worker has the task by now.
      await this.backend?.moveJobFromActiveToWait(id, token).catch(() => undefined);
    }
  }

  private key(name: string): string {
    return `${PREFIX}:${queueName(this.options.runId)}:${name}`;
  }

  private async renewLock(id: string): Promise<void> {
    const token = this.tokens.get(id);
    if (token === undefined) return;
    await this.redis.eval(RENEW_LOCK, 2, this.key(`${id}:lock`), this.key("active"), id, token, this.options.lockMs);
  }

  private async process(job: Job, token: string | undefined, signal: AbortSignal | undefined): Promise<ResultMessage> {
    const id = job.id ?? "";
    this.tokens.set(id, token ?? "");
    try {
      const message = this.read(job);
      // Redis can still return a task that was requested before the pause.
      const result = this.isPaused ? null : await this.options.answer(message, signal ?? NEVER);
      if (result !== null) {
        this.sent.add(id);
        // BullMQ stops renewing now, and drops a task's result if the lock expires before Redis accepts the result.
        await this.renewLock(id);
        return result;
      }
      await job.moveToWait(token);
      throw new WaitingError();
    } finally {
      this.tokens.delete(id);
    }
  }

  private drop(id: string): void {
    if (this.sent.delete(id)) this.options.onDropped(id, this.resent.has(id));
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

/**
 * Maximum number of stored events. BullMQ writes every job event, including its result, to a stream that art-e does not
 * read.
 */
const EVENTS_KEPT = 10;

/** Returns a task's id on its run's queue. Equal tasks have equal ids, so adding a task twice adds it once. */
export function taskKey(taskId: string | number, epoch: number): string {
  return `e${epoch}-${encodeURIComponent(taskId)}`;
}

export class RunQueue {
  private readonly queue: Queue;

  constructor(
    private readonly redis: Redis,
    runId: string,
    /** Only reads, and creates no key. */
    { isVisitor = false }: { readonly isVisitor?: boolean } = {},
  ) {
    this.queue = new Queue(queueName(runId), {
      connection: redis,
      prefix: PREFIX,
      skipMetasUpdate: isVisitor,
      streams: { events: { maxLen: EVENTS_KEPT } },
    });
    // The connection's opener reports connection faults, and commands reject by themselves.
    this.queue.on("error", () => undefined);
  }

  /** Adds tasks. Tasks that are already on the queue do not change. */
  async add(tasks: readonly { readonly id: string; readonly message: TaskMessage }[]): Promise<void> {
    const jobs = tasks.map(({ id, message }) => ({ name: "task", data: message, opts: { jobId: id, attempts: 1 } }));
    await this.queue.addBulk(jobs);
  }

  /** Returns the ids of finished tasks, oldest first. They stay on the queue until they are removed. */
  async finishedIds(limit: number): Promise<string[]> {
    return this.queue.getRanges(["completed", "failed"], 0, limit - 1, true);
  }

  async read(ids: readonly string[]): Promise<FinishedTask[]> {
    const jobs: (Job | undefined)[] = await Promise.all(ids.map((id) => this.queue.getJob(id)));
    return jobs.flatMap((job) => (job === undefined ? [] : [toFinished(job)]));
  }

  /** Returns the ids of the tasks that are not on the queue. */
  async missing(ids: readonly string[]): Promise<string[]> {
    const counts = await Promise.all(ids.map((id) => this.redis.exists(this.queue.toKey(id))));
    return ids.filter((_, i) => counts[i] === 0);
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

  /** Sets the maximum number of running tasks of all workers together. Null removes it. */
  async setConcurrency(tasks: number | null): Promise<void> {
    if (tasks === null) await this.queue.removeGlobalConcurrency();
    else await this.queue.setGlobalConcurrency(tasks);
  }

  async drain(): Promise<void> {
    await this.queue.drain(true);
  }

  /** Removes all tasks of the run, including the tasks that workers have. */
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
