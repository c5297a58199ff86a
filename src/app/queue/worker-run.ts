import { taskCost } from "../../domain/runs/cost.js";
import type { Trace } from "../../domain/runs/trace.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { compressJson } from "../../queue/compress-json.js";
import type { ResultMessage, RunManifest, TaskMessage, WorkerState } from "../../queue/messages.js";
import { addSpending, setReachedLimit } from "../../queue/run-spending.js";
import { TaskWorker } from "../../queue/task-worker.js";
import { limitReached } from "../run/budget.js";
import { type ServerFault, ServerWatch } from "../run/detect-dead-server.js";
import { RecentRate } from "./recent-rate.js";
import { type OpenAnswerContext, openAnswerContext } from "./worker-answerer.js";
import type { WorkerResources } from "./worker-resources.js";

/** A run that this worker answers tasks of. */
export class WorkerRun {
  private readonly tasks: TaskWorker;
  private readonly rate = new RecentRate();
  private active = 0;
  private wanted = 1;

  private constructor(
    private readonly manifest: RunManifest,
    private readonly attempt: string,
    private readonly opened: OpenAnswerContext,
    private readonly watch: ServerWatch,
    private readonly shared: WorkerResources,
  ) {
    opened.model.onConcurrency((slots) => {
      this.wanted = slots;
    });
    this.tasks = new TaskWorker(shared.redis, {
      runId: manifest.runId,
      name: shared.name,
      slots: this.wanted,
      lockMs: shared.lockMs,
      answer: (message, signal) => this.answer(message, signal),
      onDropped: (id) =>
        shared.context.note(`art-e: the result of ${id} of run ${manifest.runId} came too late and is dropped.`),
    });
  }

  /** Throws a UserError for what is not to be had here. */
  static async open(manifest: RunManifest, attempt: string, shared: WorkerResources): Promise<WorkerRun> {
    const watch = new ServerWatch();
    return new WorkerRun(manifest, attempt, await openAnswerContext(manifest, shared, watch), watch, shared);
  }

  /** Why no further task can succeed here. */
  get fault(): ServerFault | null {
    return this.watch.fault;
  }

  /** Tasks under way. */
  get underWay(): number {
    return this.active;
  }

  state(): WorkerState["runs"][string] {
    const limiter = this.opened.model.throttle?.state();
    return {
      attempt: this.attempt,
      active: this.active,
      answered: this.rate.total,
      perSecond: this.rate.perSecond(),
      waitingFor: limiter?.why ?? null,
    };
  }

  /** Takes at most so many tasks at once, and no more than the server takes. */
  setSlots(most: number): void {
    this.tasks.setSlots(Math.max(1, Math.min(most, this.wanted)));
  }

  /** Takes no further task. */
  pause(): Promise<void> {
    return this.tasks.pause();
  }

  /** Gives back what is under way. */
  abort(): void {
    this.tasks.abort();
  }

  /** Ends when nothing is under way. */
  async close(): Promise<void> {
    await this.tasks.close();
    await this.opened.close();
  }

  /** A limit holds for the run as a whole: whoever finds it reached stops all workers. */
  private async charge(trace: Trace): Promise<void> {
    const { redis } = this.shared;
    const { runId } = this.manifest;
    const { spent, judgeCostUsd } = taskCost(trace);
    const { spending, limits } = await addSpending(redis, runId, {
      costUsd: (spent.costUsd ?? 0) + (judgeCostUsd ?? 0),
      tokens: spent.usage.inputTokens + spent.usage.outputTokens,
      isFailed: isFailure(trace.ending),
    });
    const reached = limitReached(limits, spending);
    if (reached === null) return;
    await setReachedLimit(redis, runId, reached);
    await this.tasks.pauseAll();
  }

  private async answer(message: TaskMessage, signal: AbortSignal): Promise<ResultMessage | null> {
    this.active++;
    try {
      const answered = await this.opened.answerer.answer(this.opened.toTask(message), signal);
      if (answered === null) {
        // Otherwise this worker would take the task again at once.
        await this.tasks.pause();
        return null;
      }
      const { trace, isHeld } = answered;
      const { name } = this.shared;
      this.rate.add();
      await this.charge(trace);
      return { worker: name, trace: await compressJson("Its trace", trace), isHeld, server: this.watch.server };
    } finally {
      this.active--;
    }
  }
}
