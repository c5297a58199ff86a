// Lets workers answer the tasks of a run: publishes them, saves returned traces once, and fails tasks that workers
// lost.
import { randomUUID } from "node:crypto";
import { newTaskTrace, notAttempted } from "../agents/new-trace.js";
import { toolDefinition } from "../agents/registry-store.js";
import type { TaskCalls } from "../models/call-budget.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { presentProperties } from "../platform/optional-values.js";
import { programVersion } from "../platform/program-files.js";
import type { Answered, AnswererOfRun, AnswerLimits, StartedRun, TaskAnswerer } from "../runs/answer-task.js";
import { queueSettings, type RunPlan } from "../runs/plan-run.js";
import type { RunOptions } from "../runs/run-flags.js";
import { JudgeShortfall } from "../scoring/judge-settings.js";
import { identifySuite, ungraded } from "../suites/suite.js";
import type { PlannedTask } from "../tasks/question.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { NO_LIMITS, type RunLimits } from "../traces/run-settings.js";
import { suiteTraceSchema, type Trace, traceSchema } from "../traces/trace.js";
import { hasTrace } from "../traces/traces-store.js";
import type { QueueConnection } from "./connection/queue-connection.js";
import {
  compressJson,
  connectRedis,
  lostConnectionNotes,
  parseQueueUrl,
  readCompressed,
  StrangeMessage,
} from "./connection/redis.js";
import { type FinishedTask, RunQueue, taskKey } from "./protocol/run-queue.js";
import { answerControls } from "./protocol/shared-control.js";
import { removeSharedJournal, takeSharedJournals } from "./protocol/shared-journal.js";
import {
  beginSpending,
  changeLimits,
  changeWorkerLimits,
  getReachedLimit,
  isPublished,
  PROTOCOL,
  publishRun,
  type ResultMessage,
  type RunManifest,
  type TaskMessage,
  type WorkerLimits,
  withdrawRun,
} from "./protocol/shared-state.js";
import { WorkersWatch } from "./status.js";

interface ReturnedResult extends Answered, Pick<ResultMessage, "server"> {}

interface OutstandingTask {
  readonly planned: PlannedTask;
  readonly message: TaskMessage;
  /** Settles the task with its answer, or leaves it for a resume if `answer` is null. */
  settle(answer: Answered | null): void;
}

interface DispatchRequest extends Pick<StartedRun, "budget" | "journal" | "mayStart" | "isPaused" | "onControl"> {
  readonly redis: QueueConnection;
  readonly manifest: RunManifest;
  isSaved(traceId: string): boolean;
  onTrace(trace: Trace): void;
  note(text: string): void;
}

/**
 * Maximum number of tasks on the queue: enough work for the workers while the coordinator is away. More would only fill
 * Redis's memory.
 */
const TASKS_AHEAD = 5_000;

/** Maximum milliseconds to wait for Redis to remove a finished run from the queue. It can be restarting. */
const CLOSING_MS = 15_000;

/** Lets the workers of a queue answer a run's tasks. Throws a UserError if the queue cannot be used. */
export async function queueAnswerer(
  plan: RunPlan,
  url: string,
  options: RunOptions,
  { note, signal }: AppContext,
): Promise<AnswererOfRun> {
  const settings = queueSettings(plan);
  const address = parseQueueUrl(url);
  // Built before connecting: a connection would stay open if this fails.
  const manifest = await manifestOf({ ...plan, settings }, options, signal);
  const redis = await connectRedis(address, lostConnectionNotes(address, note), signal);
  // On an interrupt, do not wait for Redis: results on the queue stay there until the run is resumed.
  const endPatience = () => redis.endPatience();
  signal.addEventListener("abort", endPatience, { once: true });
  let tasks: DispatchedTasks | null = null;
  const shortfall = new JudgeShortfall();
  return {
    activity: {
      throttle: null,
      workers: () => tasks?.watch.state() ?? { workers: [], active: 0, waitingFor: null },
    },
    onConcurrency: (listener) => listener(TASKS_AHEAD),
    setLimits: async (changes) => tasks?.setLimits(changes),
    shortfall: () => (settings.judge === null ? null : shortfall.text(settings.judge.model)),
    async start(run) {
      tasks = new DispatchedTasks({
        ...run,
        redis,
        manifest,
        isSaved: (traceId) => hasTrace(run.db, traceId),
        onTrace: ({ judge }) => judge !== null && shortfall.add(judge),
        note,
      });
      return tasks;
    },
    async close() {
      const patience = setTimeout(() => redis.abandon(), CLOSING_MS);
      await tasks?.close();
      clearTimeout(patience);
      signal.removeEventListener("abort", endPatience);
      redis.abandon();
    },
  };
}

async function manifestOf(
  { runId, settings, tools, over }: RunPlan & { readonly settings: RunManifest["settings"] },
  options: RunOptions,
  signal: AbortSignal,
): Promise<RunManifest> {
  const suite = taskKindOf(over) === "suite" ? await identifySuite(over.dataset.source, signal) : null;
  const { requestTimeout, rpm = null, tpm = null, cache } = options;
  return {
    protocol: PROTOCOL,
    runId,
    programVersion: programVersion(),
    corpusFingerprint: suite === null || suite.hasMail ? over.corpusFingerprint : "",
    suite: suite === null ? null : { name: suite.name, digest: suite.digest },
    settings,
    tools: tools.map(({ tool, config }) => ({ tool: toolDefinition(tool), config })),
    requests: { timeoutMs: requestTimeout * 1_000, rpm, tpm, cache },
  };
}

/**
 * Returns the trace of a finished task, or a failed trace with the reason if the worker's result is missing or invalid.
 */
async function readResult(
  finished: FinishedTask,
  plannedTask: PlannedTask,
  manifest: RunManifest,
): Promise<ReturnedResult> {
  const failed = (why: string): ReturnedResult => ({
    trace: failedTrace(why, plannedTask, manifest),
    isHeld: false,
    abandoned: null,
    server: "answering",
  });
  if ("failure" in finished) return failed(reasonOf(finished.failure));
  const { result } = finished;
  try {
    const schema = plannedTask.kind === "question" ? traceSchema : suiteTraceSchema;
    const read = async (text: string) => {
      const trace = await readCompressed("The trace", text, schema);
      checkSameTask(trace, plannedTask, manifest);
      return trace;
    };
    const { isHeld, server } = result;
    const abandoned = result.abandoned === null ? null : await read(result.abandoned);
    return { trace: await read(result.trace), isHeld, abandoned, server };
  } catch (error) {
    if (error instanceof StrangeMessage) return failed(`Cannot use the result of ${result.worker}: ${error.message}`);
    throw error;
  }
}

/** Returns null if the result cannot be read. */
async function readTraceId(finished: FinishedTask): Promise<string | null> {
  if ("failure" in finished) return null;
  const schema = traceSchema.pick({ traceId: true });
  const read = await readCompressed("The trace", finished.result.trace, schema).catch(() => null);
  return read?.traceId ?? null;
}

/** Rewords BullMQ's message for a task whose worker was lost too often. */
function reasonOf(failure: string): string {
  return failure.includes("stalled")
    ? "Its worker died or lost its connection three times. The task is not retried."
    : failure;
}

function checkSameTask(trace: Trace, { task, epoch }: PlannedTask, { runId }: RunManifest): void {
  const isSame =
    trace.runId === runId && trace.taskId === task.id && trace.task.id === task.id && trace.epoch === epoch;
  if (!isSame) throw new StrangeMessage("its trace belongs to another task");
}

/** Returns the trace of an infrastructure fault, which is never graded. */
function failedTrace(why: string, plannedTask: PlannedTask, { runId, settings }: RunManifest): Trace {
  const { agentId, model, maxTurns } = settings;
  const { kind, task } = plannedTask;
  const record =
    kind === "question" ? ({ kind, task } as const) : ungraded(task, { state: "agent_error", reason: why });
  return newTaskTrace({ runId, agentId, model, maxTurns }, plannedTask, notAttempted("interrupted", why), record);
}

/** The requested tasks without an answer, by their queue ids. */
class OutstandingTasks {
  private readonly tasks = new Map<string, OutstandingTask>();
  /** Ids of the tasks that are not on the queue yet. */
  private unsent: string[] = [];
  private isOver = false;
  private fault: { readonly error: unknown } | null = null;

  get size(): number {
    return this.tasks.size;
  }

  get hasUnsent(): boolean {
    return this.unsent.length > 0;
  }

  ids(): string[] {
    return [...this.tasks.keys()];
  }

  planned(id: string): PlannedTask | undefined {
    return this.tasks.get(id)?.planned;
  }

  /** Resolves when the task is settled, with null if the signal aborts. Rejects if the tasks end with a fault. */
  add(plannedTask: PlannedTask, replies: string | null, signal: AbortSignal): Promise<Answered | null> {
    const id = taskKey(plannedTask.task.id, plannedTask.epoch);
    return new Promise((resolve, reject) => {
      const settle = (answer: Answered | null) => {
        signal.removeEventListener("abort", leave);
        this.tasks.delete(id);
        if (this.fault === null) resolve(answer);
        else reject(this.fault.error);
      };
      const leave = () => settle(null);
      if (this.isOver) return settle(null);
      signal.addEventListener("abort", leave, { once: true });
      this.tasks.set(id, { planned: plannedTask, message: messageOf(plannedTask, replies), settle });
      this.unsent.push(id);
    });
  }

  settle(id: string, answer: Answered | null): void {
    this.tasks.get(id)?.settle(answer);
  }

  /** Marks tasks to be added to the queue, again or for the first time. */
  send(...ids: string[]): void {
    this.unsent.push(...ids);
  }

  sendNone(): void {
    this.unsent = [];
  }

  /** Returns at most N of the tasks that are not on the queue yet. */
  takeUnsent(most: number): { readonly id: string; readonly message: TaskMessage }[] {
    return this.unsent.splice(0, most).flatMap((id) => {
      const entry = this.tasks.get(id);
      return entry === undefined ? [] : [{ id, message: entry.message }];
    });
  }

  /** Ends these and all later tasks with the fault, or leaves them for a resume if it is null. */
  end(fault: { readonly error: unknown } | null): void {
    this.isOver = true;
    this.fault = fault;
    for (const task of [...this.tasks.values()]) task.settle(null);
  }
}

function messageOf({ kind, task, epoch }: PlannedTask, replies: string | null): TaskMessage {
  return {
    task: kind === "question" ? task : { suiteTask: task.id },
    epoch,
    ...presentProperties({ replies }),
  };
}

/** Number of tasks or results per round trip. */
const AT_ONCE = 200;

/** Milliseconds between two checks for results. The pause grows while no results arrive. */
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/** Milliseconds between two checks that workers are present and that Redis still has the tasks. */
const LOOK_EVERY_MS = 1_000;

/** Lets workers answer the tasks of a run: adds each task to the queue and collects its trace from there. */
class DispatchedTasks implements TaskAnswerer {
  readonly watch: WorkersWatch;
  private readonly queue: RunQueue;
  private readonly tasks = new OutstandingTasks();
  private readonly results: ResultCollector;
  private readonly attempt = randomUUID();
  private isClosed = false;
  private isWithdrawing = false;
  private isPaused = false;
  /** The limits that the workers know. */
  private limits: RunLimits = NO_LIMITS;
  /** Limits that were changed while the run is running. */
  private workerLimits: WorkerLimits = {};
  private concurrency: number | null = null;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private wake: () => void = () => undefined;
  private readonly running: Promise<void>;

  constructor(private readonly request: DispatchRequest) {
    const { redis, manifest, note } = request;
    this.queue = new RunQueue(redis, manifest.runId);
    this.watch = new WorkersWatch(redis, manifest, note);
    this.results = new ResultCollector(this.queue, this.tasks, this.watch, request);
    this.running = this.loop().catch((error) => this.tasks.end(redis.isAbandoned ? null : { error }));
  }

  /** Resolves with null if the run stops before the task is answered. */
  async answer(plannedTask: PlannedTask, signal: AbortSignal, { journal }: TaskCalls): Promise<Answered | null> {
    if (signal.aborted) return null;
    this.results.expect(taskKey(plannedTask.task.id, plannedTask.epoch));
    const { stored } = journal;
    return this.tasks.add(plannedTask, stored.length === 0 ? null : await compressJson("Its replies", stored), signal);
  }

  saved({ taskId, epoch }: Trace): void {
    this.results.saved(taskKey(taskId, epoch));
  }

  /** `concurrency` limits the tasks of all workers together, beside their own limits. */
  async setLimits({ concurrency, ...limits }: AnswerLimits): Promise<void> {
    if (concurrency !== undefined) this.concurrency = concurrency === "auto" ? null : concurrency;
    this.workerLimits = { ...this.workerLimits, ...limits };
    await this.publishLimits();
    // Workers that wait for a task notice a higher concurrency only when the queue resumes.
    if (!this.isPaused && !this.isWithdrawing) await this.queue.resume();
  }

  private async publishLimits(): Promise<void> {
    const { redis, manifest } = this.request;
    await changeWorkerLimits(redis, manifest.runId, this.workerLimits);
    await this.queue.setConcurrency(this.concurrency);
  }

  /** If workers still have tasks, the replies stay in Redis for them. */
  async storeUnfinished(): Promise<void> {
    const { redis, manifest, journal } = this.request;
    try {
      const { active } = await this.queue.counts();
      if (active > 0) return;
      await takeSharedJournals(redis, manifest.runId, (task, entries) => journal.restore(task, entries));
    } catch (error) {
      if (!redis.isAbandoned) throw error;
    }
  }

  /**
   * Removes the run from the queue, unless workers still have tasks of it or results are waiting to be saved. Never
   * throws: the saved results matter more than what is left on the queue.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    this.wake();
    const { redis, manifest, note } = this.request;
    try {
      await this.running;
      await this.tidy();
    } catch (error) {
      const why = redis.isAbandoned ? "the server is away" : (error as Error).message.replace(/\.$/, "");
      const clean = commandLine`art-e queue clean ${manifest.runId}`;
      note(`art-e: run ${manifest.runId} is still on the queue (${why}). Resume it, or remove it with: ${clean}`);
    }
    await this.queue.close().catch(() => undefined);
  }

  private async loop(): Promise<void> {
    let pauseMs = SHORTEST_PAUSE_MS;
    await this.begin();
    while (!this.isClosed) {
      while (this.tasks.hasUnsent) await this.queue.add(this.tasks.takeUnsent(AT_ONCE));
      await this.results.removeSaved();
      const collected = await this.results.collect();
      if (performance.now() - this.lookedAt >= LOOK_EVERY_MS) await this.look();
      await this.followControls();
      if (!this.request.mayStart() || this.watch.fault !== null) await this.withdraw();
      const isBusy = collected > 0 || this.tasks.hasUnsent;
      pauseMs = isBusy ? SHORTEST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      await this.pause(pauseMs);
    }
  }

  /**
   * Starts the run. Workers that know an earlier attempt, with other settings, get no task before they know this
   * attempt.
   */
  private async begin(): Promise<void> {
    await this.queue.pause();
    await this.publish();
    while (!this.isClosed && !(await this.watch.isKnownEverywhere(this.attempt))) await this.pause(LONGEST_PAUSE_MS);
    await this.queue.resume();
  }

  /** Tells the workers about a pause and about changed limits. */
  private async followControls(): Promise<void> {
    const { redis, manifest, budget, isPaused, onControl } = this.request;
    await answerControls(redis, manifest.runId, onControl);
    if (budget.limits !== this.limits) {
      this.limits = budget.limits;
      await changeLimits(redis, manifest.runId, this.limits);
      // A worker that reached the earlier limit has stopped all workers.
      if (!this.isWithdrawing && !this.isPaused) await this.queue.resume();
    }
    if (this.isWithdrawing || isPaused() === this.isPaused) return;
    this.isPaused = !this.isPaused;
    await (this.isPaused ? this.queue.pause() : this.queue.resume());
  }

  private async publish(): Promise<void> {
    const { redis, manifest, budget } = this.request;
    this.limits = budget.limits;
    await beginSpending(redis, manifest.runId, budget.spent, this.limits);
    await this.publishLimits();
    await publishRun(redis, manifest, this.attempt);
  }

  private async look(): Promise<void> {
    this.lookedAt = performance.now();
    const { redis, manifest, budget, note } = this.request;
    if (!(await isPublished(redis, manifest.runId))) {
      note("art-e: the queue has lost this run. Adding the missing tasks again.");
      await this.publish();
    }
    const reached = await getReachedLimit(redis, manifest.runId);
    if (reached !== null) budget.setReached(reached);
    const counts = await this.queue.counts();
    await this.watch.look(counts.active);
    // A killed Redis server might have lost the last second of its data, or all of it.
    if (this.isWithdrawing || counts.waiting + counts.active + counts.finished >= this.tasks.size) return;
    this.tasks.send(...(await this.queue.missing(this.tasks.ids())));
  }

  /** Takes back the tasks that no worker has started, and waits for the others. */
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
    // An earlier coordinator might have been killed between saving results and removing them.
    do await this.results.removeSaved();
    while ((await this.results.collect()) > 0);
    await this.results.removeHeld();
    const { active, finished } = await this.queue.counts();
    if (active + finished > 0) return;
    await this.storeUnfinished();
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

/**
 * Collects the results of a run from its queue. A result stays there until it is saved, so that the next coordinator
 * finds it if this one is killed.
 */
class ResultCollector {
  /** Ids of the results that were read: not saved yet, or not for a requested task. */
  private readonly seen = new Set<string>();
  /** Ids of the saved results that are still on the queue. */
  private unneeded: string[] = [];
  /** Ids of the unsaved failures that might be the server's fault. */
  private readonly held = new Set<string>();

  constructor(
    private readonly queue: RunQueue,
    private readonly tasks: OutstandingTasks,
    private readonly watch: WorkersWatch,
    private readonly request: DispatchRequest,
  ) {}

  /** Registers a requested task. An earlier attempt at the run might have left its result on the queue. */
  expect(id: string): void {
    this.seen.delete(id);
  }

  saved(id: string): void {
    this.unneeded.push(id);
  }

  async removeSaved(): Promise<void> {
    const ids = this.unneeded.splice(0);
    const { redis, manifest } = this.request;
    await Promise.all(
      ids.map(async (id) => {
        await this.queue.remove(id);
        await removeSharedJournal(redis, manifest.runId, id);
      }),
    );
    for (const id of ids) {
      this.seen.delete(id);
      this.held.delete(id);
    }
  }

  async removeHeld(): Promise<void> {
    for (const id of this.held) await this.queue.remove(id);
  }

  /** Settles the tasks whose results have arrived. Returns the number of results. */
  async collect(): Promise<number> {
    const ids = (await this.queue.finishedIds(AT_ONCE + this.seen.size)).filter((id) => !this.seen.has(id));
    for (const finished of await this.queue.read(ids)) await this.takeIn(finished);
    return ids.length;
  }

  private async takeIn(finished: FinishedTask): Promise<void> {
    const { id } = finished;
    const plannedTask = this.tasks.planned(id);
    if (plannedTask === undefined) {
      // The task is requested later, or an earlier attempt at the run has saved its result.
      this.seen.add(id);
      if (await this.isOfSavedTrace(finished)) this.unneeded.push(id);
      return;
    }
    const { server, ...answer } = await readResult(finished, plannedTask, this.request.manifest);
    const { trace, isHeld } = answer;
    if (this.request.isSaved(trace.traceId)) {
      // A coordinator was killed after saving this result and before removing it. Now the task is requested again.
      await this.queue.remove(id);
      this.tasks.send(id);
      return;
    }
    this.seen.add(id);
    if (isHeld) this.held.add(id);
    this.watch.heard(server, trace);
    this.request.onTrace(trace);
    this.tasks.settle(id, answer);
  }

  private async isOfSavedTrace(finished: FinishedTask): Promise<boolean> {
    const traceId = await readTraceId(finished);
    return traceId !== null && this.request.isSaved(traceId);
  }
}
