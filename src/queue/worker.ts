// The queue worker: joins and leaves published runs, divides its slots among them, and stops with a grace period.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { readFingerprint } from "../mail/corpus.js";
import { type CorpusServer, fetchCorpus } from "../mail/corpus-transfer.js";
import type { AppContext } from "../platform/app-context.js";
import { stripControls } from "../platform/control-characters.js";
import { UserError } from "../platform/errors.js";
import { programVersion } from "../platform/program-files.js";
import { limitPageCache, openReadOnly, openStore } from "../store/open-store.js";
import { identifySuite } from "../suites/suite.js";
import { counted } from "../text/format.js";
import { openMailbox } from "../tools/mailbox.js";
import { SearchPool } from "../tools/search-pool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import { connectRedis, lostConnectionNotes, parseQueueUrl, StrangeMessage } from "./connection/redis.js";
import {
  listPublishedRuns,
  readPublishedRun,
  removeWorker,
  showWorker,
  type WorkerState,
} from "./protocol/shared-state.js";
import { refusalOf, shorten, type WorkerTerms } from "./protocol/worker-refusals.js";
import { type WorkerResources, WorkerRun } from "./worker/worker-run.js";

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
  const searchThreads = SearchPool.open(mailDb);
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
    await Promise.all([searchThreads?.close(), outside.close()]);
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
  const what = counted(tasks, "task");
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
    const results = counted(this.unsent, "result");
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
      programVersion: programVersion(),
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
