import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Suite } from "../agents/task-source.js";
import { readFingerprint } from "../mail/corpus.js";
import { type CorpusServer, fetchCorpus } from "../mail/corpus-transfer.js";
import { BudgetReached, type CallBudget } from "../models/call-budget.js";
import { type JournalEntry, TaskJournal } from "../models/reply-journal.js";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { programVersion } from "../platform/program-files.js";
import { stripControls } from "../platform/strings.js";
import { questionOpener } from "../questions/dataset.js";
import { answerHere, buildAnswerContext, resourcesOf, type TaskAnswerer } from "../runs/answer-task.js";
import { type LimitReached, limitReached } from "../runs/budget.js";
import { type ServerFault, ServerWatch } from "../runs/detect-dead-server.js";
import { type CreatedModel, createModel } from "../runs/model-of-run.js";
import { sendersOf } from "../runs/run-journal.js";
import { createRunJudge } from "../scoring/judge-settings.js";
import { limitPageCache, openReadOnly, openStore } from "../store/open-store.js";
import { type IdentifiedSuite, identifySuite } from "../suites/suite.js";
import { isFailure } from "../tasks/ending.js";
import type { PlannedTask } from "../tasks/question.js";
import { openMailbox } from "../tools/mailbox.js";
import { SearchPool } from "../tools/search-pool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { QueueConnection } from "./connection/queue-connection.js";
import {
  compressJson,
  connectRedis,
  lostConnectionNotes,
  parseQueueUrl,
  readCompressed,
  StrangeMessage,
} from "./connection/redis.js";
import { TaskWorker, taskKey } from "./protocol/run-queue.js";
import { addSharedReplies, readSharedJournal, storedRepliesSchema } from "./protocol/shared-journal.js";
import { accountOf, SharedLimits } from "./protocol/shared-limits.js";
import {
  addCall,
  addTask,
  listPublishedRuns,
  type ResultMessage,
  type RunManifest,
  readPublishedRun,
  readSpending,
  readWorkerLimits,
  removeWorker,
  setReachedLimit,
  showWorker,
  type TaskMessage,
  type WorkerLimits,
  type WorkerState,
} from "./protocol/shared-state.js";
import { refusalOf, shorten, type WorkerTerms } from "./protocol/worker-refusals.js";

interface WorkOptions {
  /** URL of the queue, possibly with a password. */
  readonly queue: string;
  readonly name: string;
  readonly concurrency: number | "auto";
  /** Seconds without a sign of life after which a worker's tasks go to other workers. */
  readonly lock: number;
  /** Maximum seconds for running tasks to finish after the worker is stopped. */
  readonly grace: number;
  readonly allowPrograms: boolean;
  /** Folder of the suite whose tasks the worker answers, or null for questions only. */
  readonly suite: string | null;
  /** Server to fetch the mail from, or null to use the database in the settings. */
  readonly corpus: CorpusServer | null;
}

interface OpenAnswerContext {
  readonly model: CreatedModel;
  readonly answerer: TaskAnswerer;
  toTask(message: TaskMessage): PlannedTask;
  setLimits(changed: WorkerLimits): void;
  close(): Promise<void>;
}

interface WorkerResources {
  readonly redis: QueueConnection;
  readonly name: string;
  readonly tools: ToolResources;
  /** The suite in this machine's folder, or null if it has none. */
  readonly suite: (IdentifiedSuite & { readonly path: string }) | null;
  readonly context: AppContext;
  readonly concurrency: number | "auto";
  readonly lockMs: number;
}

/** Milliseconds between two updates: the worker looks for runs and publishes its state. */
const LOOK_EVERY_MS = 1_000;

/**
 * Answers tasks of the runs on a queue until it is interrupted. Running tasks then have a grace period to finish, after
 * which they go back to the queue.
 */
export async function work(options: WorkOptions, context: AppContext): Promise<void> {
  const { note } = context;
  const settings = { ...context.settings };
  if (options.corpus !== null) settings.db = await fetchCorpus(options.corpus, context);
  const { signal } = context;
  const suite =
    options.suite === null ? null : { path: options.suite, ...(await identifySuite(options.suite, signal)) };
  // Suite tasks need no mail.
  const db = openStore(settings.db, { mustExist: suite === null });
  limitPageCache(db);
  const mailDb = openReadOnly(settings.db);
  const searchThreads = new SearchPool(settings.db);
  const outside = openExternalResources(settings.env);
  try {
    const address = parseQueueUrl(options.queue);
    const redis = await connectRedis(address, lostConnectionNotes(address, note), signal);
    const shared = {
      redis,
      name: options.name,
      tools: { mailbox: openMailbox(mailDb), searchThreads, outside },
      suite,
      context: { ...context, settings, note: (text: string) => note(stripControls(text)) },
      concurrency: options.concurrency,
      lockMs: options.lock * 1_000,
    };
    const terms = (): WorkerTerms => ({
      programVersion: programVersion(),
      corpusFingerprint: readFingerprint(mailDb),
      db: settings.db,
      suite,
      allowPrograms: options.allowPrograms,
      env: settings.env,
    });
    const mail = terms().corpusFingerprint;
    note(
      `art-e: worker ${options.name} takes tasks from ${address.displayUrl}. Its database contains ${mailText(mail)}.`,
    );
    const runs = new RunsOfWorker(shared, terms);
    const stopNow = context.untilSecond(() => stoppingText(runs.underWay, options.grace));
    try {
      await takeTasks(runs, signal);
    } finally {
      await runs.stop(options.grace * 1_000, stopNow);
      redis.abandon();
    }
    runs.throwIfUnsent();
  } finally {
    await Promise.all([searchThreads.close(), outside.close()]);
    mailDb.close();
    db.close();
  }
}

/** Takes tasks until the signal aborts. Throws permanent Redis errors. */
async function takeTasks(runs: RunsOfWorker, signal: AbortSignal): Promise<void> {
  const stopped = once(signal, "abort");
  while (!signal.aborted) {
    // A look waits while Redis is away.
    await Promise.race([runs.look(), stopped]);
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function mailText(fingerprint: string | null): string {
  return fingerprint === null ? "no mail" : `the mail ${shorten(fingerprint)}`;
}

function stoppingText(tasks: number, grace: number): string {
  if (tasks === 0) return "Stopping.";
  const what = tasks === 1 ? "1 task" : `${tasks} tasks`;
  return `Stopping: waiting up to ${grace} s for ${what}. Press Ctrl-C again to stop now.`;
}

/** Maximum milliseconds that a stopping worker waits for Redis to take back its tasks. */
const GIVE_BACK_MS = 3_000;

/** Maximum number of slots if --concurrency is `auto`, which finds the number that the server accepts. */
const MOST_SLOTS = 256;

/** The runs that a worker answers, refuses or has left. The worker joins and leaves runs as they come and go. */
class RunsOfWorker {
  private readonly id: string;
  /** Attempt at each run that the fields below refer to. */
  private published: ReadonlyMap<string, string> = new Map();
  private readonly joined = new Map<string, WorkerRun>();
  private readonly refused = new Map<string, string>();
  private readonly faults = new Map<string, NonNullable<WorkerRun["fault"]>>();
  private readonly leaving = new Map<WorkerRun, Promise<void>>();
  private looking: Promise<void> = Promise.resolve();
  private isStopping = false;
  private unsent = 0;
  private fault: unknown = null;

  constructor(
    private readonly shared: WorkerResources,
    private readonly terms: () => WorkerTerms,
  ) {
    this.id = `${shared.name}-${randomBytes(4).toString("hex")}`;
  }

  get underWay(): number {
    return tasksOf(this.joined.values()) + tasksOf(this.leaving.keys());
  }

  look(): Promise<void> {
    this.looking = this.lookOnce();
    // The look can fail after the worker has stopped waiting for it.
    this.looking.catch(() => undefined);
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const published = await listPublishedRuns(this.shared.redis);
    const isOver = (runId: string) => published.get(runId) !== this.published.get(runId);
    for (const [runId, run] of this.joined) {
      if (run.fault !== null) {
        this.faults.set(runId, run.fault);
        this.shared.context.note(
          `art-e: worker ${this.shared.name} is stopping work on run ${runId}: ${run.fault.why}`,
        );
      }
      if (run.fault !== null || isOver(runId)) this.leave(runId, run);
    }
    for (const problems of [this.refused, this.faults]) {
      for (const runId of problems.keys()) if (isOver(runId)) problems.delete(runId);
    }
    this.published = published;
    for (const [runId, attempt] of published) await this.join(runId, attempt);
    await Promise.all([...this.joined.values()].map((run) => run.followLimits()));
    this.shareSlots();
    await showWorker(this.shared.redis, this.state());
    if (this.fault !== null) throw this.fault;
  }

  /** Lets running tasks finish within the grace period and gives back the others. Never throws or waits for Redis. */
  async stop(graceMs: number, stopNow: AbortSignal): Promise<void> {
    const { redis } = this.shared;
    this.isStopping = true;
    for (const run of this.joined.values()) void run.pause();
    const closed = this.close();
    const end = new AbortController();
    const patience = delay(graceMs, undefined, { signal: AbortSignal.any([stopNow, end.signal]) }).catch(
      () => undefined,
    );
    if (this.underWay > 0 || !redis.isAway) await Promise.race([closed, patience]);
    end.abort();
    for (const run of [...this.joined.values(), ...this.leaving.keys()]) run.abort();
    redis.endPatience();
    const giveUp = setTimeout(() => redis.abandon(), GIVE_BACK_MS);
    await closed;
    clearTimeout(giveUp);
  }

  /** Throws a UserError if the worker has stopped before Redis took its last results. */
  throwIfUnsent(): void {
    if (this.unsent === 0) return;
    const results = this.unsent === 1 ? "1 result" : `${this.unsent} results`;
    throw new UserError(
      "results_unsent",
      `Cannot send ${results}: the queue was unreachable until the worker stopped.`,
      "Other workers will run these tasks again. Pass a longer --grace to give the worker more time.",
      1,
    );
  }

  private async close(): Promise<void> {
    const leaving = [...this.leaving.keys()];
    const joined = [...this.joined.values()];
    await Promise.all([...joined.map((run) => run.close()), ...this.leaving.values()]);
    await this.looking.catch(() => undefined);
    this.unsent = [...joined, ...leaving].reduce((sum, run) => sum + run.unconfirmed, 0);
    await removeWorker(this.shared.redis, this.id).catch(() => undefined);
  }

  private async join(runId: string, attempt: string): Promise<void> {
    if (this.isStopping || this.joined.has(runId) || this.faults.has(runId)) return;
    const run = await this.open(runId, attempt);
    if (run === null) return;
    if (this.isStopping) {
      if (typeof run !== "string") await run.close();
      return;
    }
    if (typeof run !== "string") {
      this.refused.delete(runId);
      this.joined.set(runId, run);
      this.shared.context.note(`art-e: worker ${this.shared.name} is working on run ${runId}.`);
      return;
    }
    if (this.refused.get(runId) !== run)
      this.shared.context.note(`art-e: run ${runId} is left to other workers: ${run}.`);
    this.refused.set(runId, run);
  }

  /** Opens a run. Returns the reason if the worker refuses it, or null if it is gone. */
  private async open(runId: string, attempt: string): Promise<WorkerRun | string | null> {
    const onFault = (error: unknown) => {
      this.fault ??= error;
    };
    try {
      const manifest = await readPublishedRun(this.shared.redis, runId);
      if (manifest === null) return null;
      return refusalOf(manifest, this.terms()) ?? (await WorkerRun.open(manifest, attempt, this.shared, onFault));
    } catch (error) {
      if (error instanceof StrangeMessage) return error.message;
      if (error instanceof UserError) return `${error.message.replace(/\.$/, "")} (${error.hint.replace(/\.$/, "")})`;
      throw error;
    }
  }

  private leave(runId: string, run: WorkerRun): void {
    this.joined.delete(runId);
    if (run.fault !== null) run.abort();
    const closing = run.close().finally(() => this.leaving.delete(run));
    this.leaving.set(run, closing);
  }

  /** Divides the slots among the runs with tasks. A run without tasks keeps one slot to notice its next task. */
  private shareSlots(): void {
    const { concurrency } = this.shared;
    const most = (concurrency === "auto" ? MOST_SLOTS : concurrency) - tasksOf(this.leaving.keys());
    const busy = [...this.joined.values()].filter(({ underWay }) => underWay > 0).length;
    for (const run of this.joined.values()) {
      run.setSlots(run.underWay > 0 || busy === 0 ? Math.floor(most / Math.max(1, busy)) : 1);
    }
  }

  private state(): WorkerState {
    const { concurrency, name } = this.shared;
    return {
      id: this.id,
      name,
      programVersion: this.terms().programVersion,
      slots: concurrency === "auto" ? MOST_SLOTS : concurrency,
      runs: Object.fromEntries([...this.joined].map(([runId, run]) => [runId, run.state()])),
      refused: Object.fromEntries(this.refused),
      faults: Object.fromEntries(this.faults),
    };
  }
}

function tasksOf(runs: Iterable<WorkerRun>): number {
  return [...runs].reduce((sum, { underWay }) => sum + underWay, 0);
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
  const { suite, toTask, close } = await openTasks(manifest, shared);
  let { taskTimeoutMs } = settings;
  const built = buildAnswerContext(
    { runId, settings, model, tools, suite, judge: judge?.judge ?? null },
    resourcesOf(settings, shared.tools),
  );
  return {
    model,
    answerer: answerHere({ ...built, taskTimeoutMs: () => taskTimeoutMs }, watch),
    setLimits(changed) {
      limits.setRates({ rpm, tpm, ...changed });
      taskTimeoutMs = changed.taskTimeoutMs ?? settings.taskTimeoutMs;
    },
    toTask,
    async close() {
      await close();
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
): Promise<Pick<OpenAnswerContext, "toTask" | "close"> & { readonly suite: Pick<Suite, "open"> }> {
  if (requiredSuite === null || own === null) {
    return { suite: { open: questionOpener(settings.cutoff) }, toTask: questionOf, close: async () => undefined };
  }
  // Load machines only for runs with suite tasks.
  const { openSuite } = await import("../suites/suite.js");
  const suite = await openSuite(own.path, { limit: null, cutoff: settings.cutoff }, context);
  return {
    suite,
    toTask({ task, epoch }) {
      const suiteTask = "suiteTask" in task ? own.tasks.get(task.suiteTask) : undefined;
      if (suiteTask === undefined) throw new Error(`unknown task in the suite ${own.name}`);
      return { kind: "suite", task: suiteTask, epoch };
    },
    close: () => suite.close(),
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

class WorkerRun {
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
      onDropped: (id) =>
        shared.context.note(`art-e: the result of ${id} of run ${manifest.runId} arrived too late and was discarded.`),
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
