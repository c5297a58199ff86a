import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import { isPublished, publishRun, withdrawRun } from "../../queue/run-manifests.js";
import { RunQueue, taskKey } from "../../queue/run-queue.js";
import { beginSpending, getReachedLimit } from "../../queue/run-spending.js";
import type { Answered, TaskAnswerer } from "../run/answer/task-answerer.js";
import { type Budget, isLimitFlag } from "../run/budget.js";
import { OutstandingTasks } from "./outstanding-tasks.js";
import { type CollectRequest, ResultCollector } from "./result-collector.js";
import { WorkersWatch } from "./workers-watch.js";

/** Tasks added per round trip. */
const AT_ONCE = 200;

/** Pause between two looks for results: short while they come, longer while none does. */
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** How often to see whether workers are there, and whether Redis still has the tasks. */
const LOOK_EVERY_MS = 1_000;

export interface DispatchRequest extends CollectRequest {
  readonly redis: Redis;
  readonly limits: RunLimits;
  readonly budget: Budget;
  /** False: no further task may start. */
  mayStart(): boolean;
  note(text: string): void;
}

/** Has the tasks of a run answered by workers: puts each on the queue, and takes its trace from there. */
export class DispatchedTasks implements TaskAnswerer {
  readonly watch: WorkersWatch;
  private readonly queue: RunQueue;
  private readonly tasks = new OutstandingTasks();
  private readonly results: ResultCollector;
  private readonly attempt = randomUUID();
  private isClosed = false;
  private isWithdrawing = false;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private wake: () => void = () => undefined;
  private readonly running: Promise<void>;

  constructor(private readonly request: DispatchRequest) {
    const { redis, manifest, note } = request;
    this.queue = new RunQueue(redis, manifest.runId);
    this.watch = new WorkersWatch(redis, manifest, note);
    this.results = new ResultCollector(this.queue, this.tasks, this.watch, request);
    this.running = this.loop().catch((error) => this.tasks.fail(error));
  }

  /** Null where it was not answered: the run stops before. */
  answer(planned: PlannedTask, signal: AbortSignal): Promise<Answered | null> {
    if (signal.aborted) return Promise.resolve(null);
    this.results.expect(taskKey(planned.task.id, planned.epoch));
    return this.tasks.add(planned, signal);
  }

  saved({ taskId, epoch }: Trace): void {
    this.results.saved(taskKey(taskId, epoch));
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
      while (this.tasks.hasUnsent) await this.queue.add(this.tasks.takeUnsent(AT_ONCE));
      await this.results.removeSaved();
      const collected = await this.results.collect();
      if (performance.now() - this.lookedAt >= LOOK_EVERY_MS) await this.look();
      if (!this.request.mayStart() || this.watch.fault !== null) await this.withdraw();
      const isBusy = collected > 0 || this.tasks.hasUnsent;
      pauseMs = isBusy ? SHORTEST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      await this.pause(pauseMs);
    }
  }

  /** Workers that know of an earlier attempt, with other settings, take no task before they know of this one. */
  private async begin(): Promise<void> {
    await this.queue.pause();
    await this.publish();
    while (!this.isClosed && !(await this.watch.isKnownEverywhere(this.attempt))) await this.pause(LONGEST_PAUSE_MS);
    await this.queue.resume();
  }

  private async publish(): Promise<void> {
    const { redis, manifest, budget, limits } = this.request;
    await beginSpending(redis, manifest.runId, budget.spent, limits);
    await publishRun(redis, manifest, this.attempt);
  }

  private async look(): Promise<void> {
    this.lookedAt = performance.now();
    const { redis, manifest, budget } = this.request;
    if (!(await isPublished(redis, manifest.runId))) {
      this.request.note("art-e: the queue has lost this run: what is missing of it is put back.");
      await this.publish();
    }
    const reached = await getReachedLimit(redis, manifest.runId);
    if (reached !== null && isLimitFlag(reached.flag)) budget.setReached({ ...reached, flag: reached.flag });
    const counts = await this.queue.counts();
    await this.watch.look(counts.active);
    // A server that was killed may have lost the last second of what it was told, or all of it.
    if (this.isWithdrawing || counts.waiting + counts.active + counts.finished >= this.tasks.size) return;
    this.tasks.send(...(await this.queue.missing(this.tasks.ids())));
  }

  /** Takes back what no worker has begun. What workers have is waited for. */
  private async withdraw(): Promise<void> {
    this.tasks.sendNone();
    if (!this.isWithdrawing) await this.queue.pause();
    this.isWithdrawing = true;
    await this.queue.drain();
    for (const id of await this.queue.missing(this.tasks.ids())) this.tasks.settle(id, null);
  }

  private async tidy(): Promise<void> {
    const { redis, manifest } = this.request;
    await this.queue.pause();
    await this.queue.drain();
    await this.results.removeSaved();
    await this.results.removeHeld();
    const { active, finished } = await this.queue.counts();
    if (active + finished > 0) return;
    await this.queue.obliterate();
    await withdrawRun(redis, manifest.runId);
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
