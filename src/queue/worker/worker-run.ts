// One run that a worker has joined: its model, tools and journal, and the tasks that the worker answers for it.
import type { Suite } from "../../agents/task-source.js";
import { BudgetReached, type CallBudget } from "../../models/call-budget.js";
import { type JournalEntry, TaskJournal } from "../../models/reply-journal.js";
import type { AppContext } from "../../platform/app-context.js";
import { questionSuite } from "../../questions/dataset.js";
import { answerHere, buildAnswerContext, resourcesOf, type TaskAnswerer } from "../../runs/answer-task.js";
import { type LimitReached, limitReached } from "../../runs/budget.js";
import { type ServerFault, ServerWatch } from "../../runs/detect-dead-server.js";
import { type CreatedModel, createModel } from "../../runs/model-of-run.js";
import { sendersOf } from "../../runs/run-journal.js";
import { createRunJudge } from "../../scoring/judge-settings.js";
import type { IdentifiedSuite } from "../../suites/suite.js";
import { isFailure } from "../../tasks/ending.js";
import type { PlannedTask } from "../../tasks/question.js";
import type { ToolResources } from "../../tools/tool-handler.js";
import type { QueueConnection } from "../connection/queue-connection.js";
import { compressJson, readCompressed } from "../connection/redis.js";
import { TaskWorker, taskKey } from "../protocol/run-queue.js";
import { addSharedReplies, readSharedJournal, storedRepliesSchema } from "../protocol/shared-journal.js";
import { accountOf, SharedLimits } from "../protocol/shared-limits.js";
import {
  addCall,
  addTask,
  type ResultMessage,
  type RunManifest,
  readSpending,
  readWorkerLimits,
  setReachedLimit,
  type TaskMessage,
  type WorkerLimits,
  type WorkerState,
} from "../protocol/shared-state.js";

export interface WorkerResources {
  readonly redis: QueueConnection;
  readonly name: string;
  readonly tools: ToolResources;
  /** The suite in this machine's folder, or null if it has none. */
  readonly suite: (IdentifiedSuite & { readonly path: string }) | null;
  readonly context: AppContext;
  readonly concurrency: number | "auto";
  readonly lockMs: number;
}

export class WorkerRun {
  private readonly tasks: TaskWorker;
  private readonly rate = new RecentRate();
  private active = 0;
  private wanted = 1;

  private constructor(
    private readonly manifest: RunManifest,
    private readonly attempt: string,
    private readonly answerContext: OpenAnswerContext,
    private readonly watch: ServerWatch,
    private readonly shared: WorkerResources,
    private readonly onFault: (error: unknown) => void,
  ) {
    answerContext.model.onConcurrency((slots) => {
      this.wanted = slots;
    });
    this.tasks = new TaskWorker(shared.redis, {
      runId: manifest.runId,
      name: shared.name,
      slots: this.wanted,
      lockMs: shared.lockMs,
      answer: (message, signal) => this.answer(message, signal),
      onDropped: (id, isResent) => shared.context.note(droppedText(id, manifest.runId, isResent)),
      onFault,
    });
  }

  /** @param onFault receives permanent Redis errors, which end the worker */
  static async open(
    manifest: RunManifest,
    attempt: string,
    shared: WorkerResources,
    onFault: (error: unknown) => void,
  ): Promise<WorkerRun> {
    const watch = new ServerWatch();
    const answerContext = await openAnswerContext(manifest, shared, watch, onFault);
    return new WorkerRun(manifest, attempt, answerContext, watch, shared, onFault);
  }

  get fault(): ServerFault | null {
    return this.watch.fault;
  }

  /** Number of running tasks, including those whose result Redis has not confirmed. */
  get underWay(): number {
    return this.active + this.unconfirmed;
  }

  get unconfirmed(): number {
    return this.tasks.unconfirmed;
  }

  state(): WorkerState["runs"][string] {
    const limiter = this.answerContext.model.throttle?.state();
    return {
      attempt: this.attempt,
      active: this.active,
      answered: this.rate.total,
      perSecond: this.rate.perSecond(),
      waitingFor: limiter?.why ?? null,
    };
  }

  /** Takes at most `most` concurrent tasks, and no more than the server accepts. */
  setSlots(most: number): void {
    this.tasks.setSlots(Math.max(1, Math.min(most, this.wanted)));
  }

  /** Applies the limits that were changed while the run is running. */
  async followLimits(): Promise<void> {
    this.answerContext.setLimits(await readWorkerLimits(this.shared.redis, this.manifest.runId));
  }

  pause(): Promise<void> {
    return this.tasks.pause();
  }

  abort(): void {
    this.tasks.abort();
  }

  async close(): Promise<void> {
    await this.tasks.close();
    await this.answerContext.close();
  }

  /** Returns the limit that all workers together have reached, or null. The worker that finds it stops all others. */
  private async reached(): Promise<LimitReached | null> {
    const { redis } = this.shared;
    const { runId } = this.manifest;
    const { spending, limits } = await readSpending(redis, runId);
    const reached = limitReached(limits, spending);
    if (reached === null) return null;
    await setReachedLimit(redis, runId, reached);
    await this.tasks.pauseAll();
    return reached;
  }

  /** Counts calls in Redis, where all workers see them before their next call. */
  private readonly budget: CallBudget = {
    beforeCall: async () => {
      const limit = await this.reached().catch((error) => {
        this.onFault(error);
        throw new BudgetReached((error as Error).message);
      });
      if (limit !== null && limit.flag !== "--max-failures") throw new BudgetReached(limit.why);
    },
    // The call is already paid, so a Redis error must not lose its reply.
    afterCall: (spending) => addCall(this.shared.redis, this.manifest.runId, spending).catch(this.onFault),
  };

  /** Opens the journal of a task, with the replies of another worker or of an earlier attempt at the run. */
  private async openJournal({ task, epoch }: PlannedTask, { replies }: TaskMessage): Promise<TaskJournal> {
    const { redis } = this.shared;
    const { runId } = this.manifest;
    const id = taskKey(task.id, epoch);
    let stored = await readSharedJournal(redis, runId, id);
    if (stored.length === 0 && replies !== undefined) {
      stored = await readCompressed("Its replies", replies, storedRepliesSchema);
      await addSharedReplies(redis, runId, id, stored);
    }
    const store = async (entry: JournalEntry) => {
      const isStored = addSharedReplies(redis, runId, id, [entry]).catch(this.onFault);
      // While Redis is away, the task goes on, and the reply is sent when Redis is back.
      if (!redis.isAway) await isStored;
    };
    return new TaskJournal(stored, store, sendersOf(this.manifest.settings));
  }

  private async answer(message: TaskMessage, signal: AbortSignal): Promise<ResultMessage | null> {
    this.active++;
    try {
      const plannedTask = this.answerContext.toTask(message);
      const journal = await this.openJournal(plannedTask, message).catch(this.onFault);
      if (journal === undefined) return null;
      const answer = await this.answerContext.answerer.answer(plannedTask, signal, { budget: this.budget, journal });
      if (answer === null) {
        // Otherwise this worker would immediately take the task again.
        await this.tasks.pause();
        return null;
      }
      const { trace, isHeld, abandoned } = answer;
      const { name, redis } = this.shared;
      this.rate.add();
      await addTask(redis, this.manifest.runId, isFailure(trace.ending)).catch(this.onFault);
      await this.reached().catch(this.onFault);
      const { server } = this.watch;
      return {
        worker: name,
        trace: await compressJson("Its trace", trace),
        isHeld,
        abandoned: abandoned === null ? null : await compressJson("Its trace", abandoned),
        server,
      };
    } finally {
      this.active--;
    }
  }
}

function droppedText(id: string, runId: string, isResent: boolean): string {
  const result = `art-e: the result of ${id} of run ${runId}`;
  return isResent
    ? `${result} was sent again after the connection was lost. Redis already has it, or another worker has the task.`
    : `${result} arrived too late and was discarded.`;
}

interface OpenAnswerContext {
  readonly model: CreatedModel;
  readonly answerer: TaskAnswerer;
  toTask(message: TaskMessage): PlannedTask;
  setLimits(changed: WorkerLimits): void;
  close(): Promise<void>;
}

/** Loads the run's agent, tools, judge and suite. Throws a UserError if one of them is unavailable on this machine. */
async function openAnswerContext(
  manifest: RunManifest,
  shared: WorkerResources,
  watch: ServerWatch,
  onFault: (error: unknown) => void,
): Promise<OpenAnswerContext> {
  const { runId, settings, requests, tools } = manifest;
  const { timeoutMs, rpm, tpm, cache } = requests;
  const { settings: own, note } = shared.context;
  const account = accountOf(settings, own.env);
  const limits = new SharedLimits(shared.redis, { runId, account, rpm, tpm, onFault });
  const options = { concurrency: shared.concurrency, requestTimeout: timeoutMs / 1_000, cache, shared: limits };
  const model = await createModel(settings, options, { settings: own, note });
  const judging = { timeoutMs, note, shared: judgeLimits(manifest, shared, onFault) };
  const judge = await createRunJudge(settings, model, judging, own);
  const { suite, toTask } = await openTasks(manifest, shared);
  let { taskTimeoutMs } = settings;
  const answerContext = buildAnswerContext(
    { runId, settings, model, tools, suite, judge: judge?.judge ?? null, taskTimeoutMs: () => taskTimeoutMs },
    resourcesOf(settings, shared.tools),
  );
  return {
    model,
    answerer: answerHere(answerContext, watch),
    setLimits(changed) {
      limits.setRates({ rpm, tpm, ...changed });
      taskTimeoutMs = changed.taskTimeoutMs ?? settings.taskTimeoutMs;
    },
    toTask,
    async close() {
      await suite.close();
      model.close();
    },
  };
}

/**
 * Returns shared limits for the judge, so that all workers pause if its server refuses one. Undefined if there is no
 * judge.
 */
function judgeLimits(
  { runId, settings: { judge } }: RunManifest,
  { redis, context }: WorkerResources,
  onFault: (error: unknown) => void,
): SharedLimits | undefined {
  if (judge === null) return undefined;
  const account = accountOf({ ...judge, wireApi: null }, context.settings.env);
  return new SharedLimits(redis, { runId, account, rpm: null, tpm: null, onFault });
}

/**
 * Opens the tasks. Only the ids of suite tasks come over the queue: their files and grading come from this machine's
 * folder.
 */
async function openTasks(
  { suite: requiredSuite, settings }: RunManifest,
  { suite: own, context }: WorkerResources,
): Promise<Pick<OpenAnswerContext, "toTask"> & { readonly suite: Suite }> {
  if (requiredSuite === null || own === null) {
    return { suite: questionSuite(settings.cutoff), toTask: questionOf };
  }
  // Load machines only for runs with suite tasks.
  const { openSuite } = await import("../../suites/suite.js");
  const suite = await openSuite(own.path, { limit: null, cutoff: settings.cutoff }, context);
  return {
    suite,
    toTask({ task, epoch }) {
      const suiteTask = "suiteTask" in task ? own.tasks.get(task.suiteTask) : undefined;
      if (suiteTask === undefined) throw new Error(`unknown task in the suite ${own.name}`);
      return { kind: "suite", task: suiteTask, epoch };
    },
  };
}

function questionOf({ task, epoch }: TaskMessage): PlannedTask {
  if ("suiteTask" in task) throw new Error("a run over questions contains a suite task");
  return { kind: "question", task, epoch };
}

const WINDOW_MS = 30_000;

/** Counts items: in total, and per second over the last half minute. */
class RecentRate {
  total = 0;
  private readonly startedAt = performance.now();
  /** Counts per second, oldest first. */
  private readonly seconds: { readonly at: number; count: number }[] = [];

  add(): void {
    this.total++;
    const at = Math.floor(performance.now() / 1_000);
    const last = this.seconds.at(-1);
    if (last?.at === at) last.count++;
    else this.seconds.push({ at, count: 1 });
    this.forget();
  }

  perSecond(): number {
    this.forget();
    const count = this.seconds.reduce((sum, second) => sum + second.count, 0);
    const ms = Math.max(1_000, Math.min(WINDOW_MS, performance.now() - this.startedAt));
    return (count * 1_000) / ms;
  }

  private forget(): void {
    const oldest = (performance.now() - WINDOW_MS) / 1_000;
    while (this.seconds[0] !== undefined && this.seconds[0].at < oldest) this.seconds.shift();
  }
}
