// Carries out requests to steer a run, and records each change.
import { resolve } from "node:path";
import { commandLine } from "../../platform/command-line.js";
import { stripControls } from "../../platform/control-characters.js";
import { UserError } from "../../platform/errors.js";
import { compact } from "../../platform/optional-values.js";
import { holdOf } from "../../reports/hold-text.js";
import { withWriteTransaction } from "../../store/write-transaction.js";
import { epochKey } from "../../tasks/epoch-key.js";
import type { PlannedTask, TaskId } from "../../tasks/question.js";
import type { RunEvent } from "../../traces/progress.js";
import { failedPositions, firstPosition, tasksAt } from "../../traces/results-store.js";
import { costOfRun } from "../../traces/run-figures.js";
import { countResults } from "../../traces/run-list.js";
import { getRun, saveRunChange } from "../../traces/runs-store.js";
import type { AnswererOfRun, AnswerLimits, RunServices } from "../answer-task.js";
import type {
  ControlChanges,
  ControlCommand,
  ControlledRun,
  ControlReply,
  ControlRequest,
} from "../control-protocol.js";
import type { TaskSteering } from "../run-tasks.js";
import type { RunTracker } from "../run-tracker.js";

interface ControlsOptions {
  readonly tracker: RunTracker;
  readonly answerer: Pick<AnswererOfRun, "setLimits">;
  /** Requires known prices for a cost limit. Throws a UserError. */
  checkPriced(maxCostUsd: number): void;
}

/** Steers one running run: carries out control requests and records each change in the run's settings. */
export class RunControls implements TaskSteering {
  isPaused = false;
  private readonly wound = new AbortController();
  private readonly stopped = new AbortController();
  private readonly listeners: (() => void)[] = [];
  private readonly requeued: PlannedTask[] = [];
  /** Keys of the tasks that were requeued and have no new result yet. */
  private readonly awaited = new Set<string>();
  private saveHeldFailures: () => Promise<void> = async () => undefined;
  private isOver = false;
  /** Ends with the last change. Changes are made one after another, because they share a database connection. */
  private changing: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly services: RunServices,
    private readonly options: ControlsOptions,
    private readonly emit: (event: RunEvent) => void,
  ) {}

  /** Aborts when the run is canceled. Running tasks finish. */
  get windDown(): AbortSignal {
    return this.wound.signal;
  }

  /** Aborts when the run is canceled with its running tasks. */
  get stopNow(): AbortSignal {
    return this.stopped.signal;
  }

  nextRequeued(): PlannedTask | null {
    return this.requeued.shift() ?? null;
  }

  beforeRequeue(listener: () => Promise<void>): void {
    this.saveHeldFailures = listener;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  async close(): Promise<void> {
    this.isOver = true;
    await this.changing;
  }

  add(event: RunEvent): void {
    if (event.type === "task_finished") this.awaited.delete(epochKey(event.result));
  }

  async answer(request: ControlRequest): Promise<ControlReply> {
    try {
      const message = request.command === "show" ? "" : await this.changeInTurn(request);
      return { ok: true, run: this.state(request.command === "show" && request.showText), message };
    } catch (error) {
      if (error instanceof UserError) {
        return { ok: false, code: error.code, message: error.message, hint: error.hint };
      }
      const message = `Cannot ${request.command} the run: ${(error as Error).message}.`;
      return { ok: false, code: "control_failed", message, hint: "Check the output of the run." };
    }
  }

  private changeInTurn(request: ControlCommand): Promise<string> {
    const change = this.changing.then(() => this.change(request));
    this.changing = change.catch(() => undefined);
    return change;
  }

  private async change(request: ControlCommand): Promise<string> {
    const { runId } = this.services;
    if (this.isOver || this.wound.signal.aborted) {
      throw new UserError(
        "run_ending",
        `Cannot ${request.command} run ${runId}: it is ending.`,
        `Continue it: ${commandLine`art-e run --resume ${runId}`}`,
      );
    }
    const done = await this.carryOut(request);
    await this.record(done, request.reason);
    return done;
  }

  /** Acts before the change is recorded, because another program can lock the database for a while. */
  private async carryOut(request: ControlCommand): Promise<string> {
    switch (request.command) {
      case "pause":
        this.isPaused = true;
        this.emit({ type: "run_steered", state: "paused" });
        return "paused";
      case "resume":
        this.isPaused = false;
        this.emit({ type: "run_steered", state: "running" });
        this.notify();
        return "resumed";
      case "cancel":
        this.wound.abort();
        this.emit({ type: "run_steered", state: "stopping" });
        if (request.now) this.stopped.abort(new DOMException("The run was canceled.", "AbortError"));
        this.notify();
        return request.now ? "canceled with its running tasks" : "canceled";
      case "requeue": {
        await this.saveHeldFailures();
        const tasks = this.requeue();
        return `requeued ${tasks} failed ${tasks === 1 ? "task" : "tasks"}`;
      }
      case "set":
        return this.set(request.changes);
    }
  }

  private requeue(): number {
    const { db, runId } = this.services;
    const tasks = [...tasksAt(db, runId, failedPositions(db, runId))].filter(
      (task) => !this.awaited.has(keyOfTask(task)),
    );
    for (const task of tasks) this.awaited.add(keyOfTask(task));
    this.requeued.push(...tasks);
    this.emit({ type: "tasks_requeued", tasks: tasks.length });
    this.notify();
    return tasks.length;
  }

  private async set(changes: ControlChanges): Promise<string> {
    const { answerer, checkPriced } = this.options;
    const { budget } = this.services;
    const { maxCostUsd, maxTokens, maxTimeMs, ...limits } = changes;
    if (maxCostUsd !== undefined) checkPriced(maxCostUsd);
    if (Object.keys(limits).length > 0) await answerer.setLimits(limits as AnswerLimits);
    const before = budget.limits;
    budget.setLimits({
      ...before,
      maxCostUsd: maxCostUsd ?? before.maxCostUsd,
      maxTokens: maxTokens ?? before.maxTokens,
      maxTimeMs: maxTimeMs ?? before.maxTimeMs,
    });
    this.notify();
    return `set ${changeTexts(changes).join(", ")}`;
  }

  /** Adds a line with the time and the reason to the run's settings, and saves its limits for a resume. */
  private async record(change: string, reason: string | null): Promise<void> {
    const { db, runId, budget, waiting } = this.services;
    const why = reason === null ? "" : `: ${stripControls(reason.replace(/\s+/g, " "))}`;
    const line = `${new Date().toISOString()} ${change}${why}`;
    await withWriteTransaction(db, waiting, () => {
      const { settings } = getRun(db, runId);
      const changes = [...(settings.changes ?? []), line];
      saveRunChange(db, runId, { settings: { ...settings, changes }, limits: budget.limits });
    });
  }

  private state(showText: boolean): ControlledRun {
    const { db, runId, budget } = this.services;
    const { settings, totalTasks } = getRun(db, runId);
    const { tasks: savedTasks, failedTasks } = countResults(db, runId);
    const now = Date.now();
    const { costUsd: spentUsd, tokens } = budget.spent;
    return {
      runId,
      pid: process.pid,
      db: resolve(db.name),
      state: this.wound.signal.aborted ? "canceled" : this.isPaused ? "paused" : "running",
      totalTasks,
      savedTasks,
      failedTasks,
      running: this.options.tracker.running.map(({ taskId, epoch, startedAt }) => ({
        taskId,
        epoch,
        // The clock can be set back.
        seconds: Math.max(0, now - startedAt) / 1_000,
        question: showText ? this.questionOf(taskId) : null,
      })),
      ...costOfRun(db, runId),
      spentUsd,
      tokens,
      limits: budget.limits,
      held: holdOf(this.options.tracker.state(), now),
      changes: settings.changes ?? [],
    };
  }

  private questionOf(taskId: TaskId): string | null {
    const { db, runId } = this.services;
    const position = firstPosition(db, runId, taskId);
    if (position === null) return null;
    const [task] = tasksAt(db, runId, [position]);
    if (task === undefined) return null;
    return task.kind === "question" ? task.task.question : task.task.instruction;
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

function changeTexts(changes: ControlChanges): string[] {
  const { concurrency, rpm, tpm, taskTimeoutMs, maxCostUsd, maxTokens, maxTimeMs } = changes;
  return compact([
    concurrency !== undefined && `concurrency to ${concurrency}`,
    rpm !== undefined && `requests per minute to ${rpm}`,
    tpm !== undefined && `tokens per minute to ${tpm}`,
    taskTimeoutMs !== undefined && `task timeout to ${taskTimeoutMs / 1_000} s`,
    maxCostUsd !== undefined && `cost budget to $${maxCostUsd}`,
    maxTokens !== undefined && `token budget to ${maxTokens}`,
    maxTimeMs !== undefined && `time budget to ${maxTimeMs / 60_000} minutes`,
  ]);
}

function keyOfTask({ task, epoch }: PlannedTask): string {
  return epochKey({ taskId: task.id, epoch });
}
