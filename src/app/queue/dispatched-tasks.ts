import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import { isQuestion } from "../../domain/tasks/question.js";
import type { RunManifest, TaskMessage } from "../../queue/messages.js";
import { isPublished, publishRun, withdrawRun } from "../../queue/published-runs.js";
import { type FinishedTask, RunQueue, taskKey } from "../../queue/run-queue.js";
import { beginSpending, getReachedLimit } from "../../queue/run-spending.js";
import type { Answered, TaskAnswerer } from "../run/answer/task-answerer.js";
import { type Budget, isLimitFlag } from "../run/budget.js";
import { readResult, readTraceId } from "./read-result.js";
import { WorkersWatch } from "./workers-watch.js";

/** Tasks added, and results read, per round trip. */
const AT_ONCE = 200;

/** Pause between two looks for results: short while they come, longer while none does. */
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** How often to see whether workers are there, and whether Redis still has the tasks. */
const LOOK_EVERY_MS = 1_000;

export interface DispatchRequest {
  readonly redis: Redis;
  readonly manifest: RunManifest;
  /** Whether the trace is in the database already. */
  isSaved(traceId: string): boolean;
  readonly limits: RunLimits;
  readonly budget: Budget;
  /** False: no further task may start. */
  mayStart(): boolean;
  onTrace(trace: Trace): void;
  note(text: string): void;
}

interface Outstanding {
  readonly planned: PlannedTask;
  readonly message: TaskMessage;
  resolve(answered: Answered | null): void;
}

/**
 * Has the tasks of a run answered by workers: puts each on the queue, and takes its trace from there. A result stays
 * on the queue until it is saved, so that a coordinator that is killed finds it again.
 */
export class DispatchedTasks implements TaskAnswerer {
  readonly watch: WorkersWatch;
  private readonly queue: RunQueue;
  private readonly outstanding = new Map<string, Outstanding>();
  /** Not on the queue yet. */
  private unsent: string[] = [];
  /** Results that were read: to be saved, or of no task that is asked now. */
  private readonly seen = new Set<string>();
  /** Results that are saved, and still on the queue. */
  private unneeded: string[] = [];
  /** Failures that may be the server's: not saved so far. */
  private readonly held = new Set<string>();
  private readonly attempt = randomUUID();
  private isClosed = false;
  private isWithdrawing = false;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private wake: () => void = () => undefined;
  private readonly running: Promise<void>;
  private fault: { readonly error: unknown } | null = null;

  constructor(private readonly request: DispatchRequest) {
    const { redis, manifest, note } = request;
    this.queue = new RunQueue(redis, manifest.runId);
    this.watch = new WorkersWatch(redis, manifest, note);
    this.running = this.loop().catch((error) => this.abandon(error));
  }

  /** Null where it was not answered: the run stops before. */
  answer(planned: PlannedTask, signal: AbortSignal): Promise<Answered | null> {
    if (signal.aborted) return Promise.resolve(null);
    const id = taskKey(planned.task.id, planned.epoch);
    return new Promise((resolve, reject) => {
      const settle = (answered: Answered | null) => {
        signal.removeEventListener("abort", leave);
        this.outstanding.delete(id);
        if (this.fault === null) resolve(answered);
        else reject(this.fault.error);
      };
      const leave = () => settle(null);
      if (this.fault !== null) return settle(null);
      signal.addEventListener("abort", leave, { once: true });
      const message = { task: questionOf(planned), epoch: planned.epoch };
      this.outstanding.set(id, { planned, message, resolve: settle });
      // Its result may have waited here since an earlier attempt at the run.
      this.seen.delete(id);
      this.unsent.push(id);
    });
  }

  /** The result is no longer needed for a resumed run. */
  saved({ taskId, epoch }: Trace): void {
    this.unneeded.push(taskKey(taskId, epoch));
  }

  /** Removes the run from the queue, unless workers still have tasks of it or results wait to be saved. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.wake();
    if (this.request.redis.status === "ready") {
      await this.running;
      await this.tidy();
    }
    await this.queue.close();
  }

  private async loop(): Promise<void> {
    let pauseMs = SHORTEST_PAUSE_MS;
    await this.begin();
    while (!this.isClosed) {
      await this.send();
      await this.removeSaved();
      const taken = await this.takeIn();
      if (performance.now() - this.lookedAt >= LOOK_EVERY_MS) await this.look();
      if (!this.request.mayStart() || this.watch.fault !== null) await this.withdraw();
      pauseMs = taken > 0 || this.unsent.length > 0 ? SHORTEST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      await this.pause(pauseMs);
    }
  }

  /** Workers that know of an earlier attempt, with other settings, take no task before they know of this one. */
  private async begin(): Promise<void> {
    const { redis, manifest, budget, limits } = this.request;
    await this.queue.pause();
    await beginSpending(redis, manifest.runId, budget.spent, limits);
    await publishRun(redis, manifest, this.attempt);
    while (!this.isClosed && !(await this.watch.isKnownEverywhere(this.attempt))) await this.pause(LONGEST_PAUSE_MS);
    await this.queue.resume();
  }

  private async send(): Promise<void> {
    while (this.unsent.length > 0) {
      const tasks = this.unsent.splice(0, AT_ONCE).flatMap((id) => {
        const found = this.outstanding.get(id);
        return found === undefined ? [] : [{ id, message: found.message }];
      });
      await this.queue.add(tasks);
    }
  }

  private async removeSaved(): Promise<void> {
    const ids = this.unneeded.splice(0);
    await Promise.all(ids.map((id) => this.queue.remove(id)));
    for (const id of ids) {
      this.seen.delete(id);
      this.held.delete(id);
    }
  }

  /** Returns how many results came. */
  private async takeIn(): Promise<number> {
    const ids = (await this.queue.finishedIds(AT_ONCE + this.seen.size)).filter((id) => !this.seen.has(id));
    for (const finished of await this.queue.read(ids)) await this.takeInOne(finished);
    return ids.length;
  }

  private async takeInOne(finished: FinishedTask): Promise<void> {
    const { id } = finished;
    const planned = this.outstanding.get(id)?.planned;
    if (planned === undefined) {
      // Of a task that will be asked yet, or that an earlier attempt at the run has saved.
      this.seen.add(id);
      if (await this.isOfSavedTrace(finished)) this.unneeded.push(id);
      return;
    }
    const { trace, isHeld, server } = await readResult(finished, planned, this.request.manifest);
    if (this.request.isSaved(trace.traceId)) {
      // A coordinator was killed between saving it and removing it here, and now the task is asked again.
      await this.queue.remove(id);
      this.unsent.push(id);
      return;
    }
    this.seen.add(id);
    if (isHeld) this.held.add(id);
    this.watch.heard(server, trace);
    this.request.onTrace(trace);
    this.outstanding.get(id)?.resolve({ trace, isHeld });
  }

  private async isOfSavedTrace(finished: FinishedTask): Promise<boolean> {
    const traceId = await readTraceId(finished);
    return traceId !== null && this.request.isSaved(traceId);
  }

  private async look(): Promise<void> {
    this.lookedAt = performance.now();
    const { redis, manifest, budget, limits } = this.request;
    if (!(await isPublished(redis, manifest.runId))) {
      this.request.note("art-e: the queue has lost this run: what is missing of it is put back.");
      await beginSpending(redis, manifest.runId, budget.spent, limits);
      await publishRun(redis, manifest, this.attempt);
    }
    const reached = await getReachedLimit(redis, manifest.runId);
    if (reached !== null && isLimitFlag(reached.flag))
      this.request.budget.setReached({ ...reached, flag: reached.flag });
    const counts = await this.queue.counts();
    await this.watch.look(counts.active);
    // A server that was killed may have lost the last second of what it was told, or all of it.
    if (this.isWithdrawing || counts.waiting + counts.active + counts.finished >= this.outstanding.size) return;
    this.unsent.push(...(await this.queue.missing([...this.outstanding.keys()])));
  }

  /** Takes back what no worker has begun. What workers have is waited for. */
  private async withdraw(): Promise<void> {
    this.unsent = [];
    if (!this.isWithdrawing) await this.queue.pause();
    this.isWithdrawing = true;
    await this.queue.drain();
    const gone = await this.queue.missing([...this.outstanding.keys()]);
    for (const id of gone) this.outstanding.get(id)?.resolve(null);
  }

  private async tidy(): Promise<void> {
    const { redis, manifest } = this.request;
    await this.queue.pause();
    await this.queue.drain();
    await this.removeSaved();
    for (const id of this.held) await this.queue.remove(id);
    const { active, finished } = await this.queue.counts();
    if (active + finished > 0) return;
    await this.queue.obliterate();
    await withdrawRun(redis, manifest.runId);
  }

  private abandon(error: unknown): void {
    this.fault = { error };
    for (const task of [...this.outstanding.values()]) task.resolve(null);
  }

  private pause(ms: number): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake(), ms);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = () => undefined;
        resolve();
      };
    });
  }
}

function questionOf({ task }: PlannedTask): TaskMessage["task"] {
  if (isQuestion(task)) return task;
  throw new Error(`task ${task.id} is of a suite: it cannot go over the queue`);
}
