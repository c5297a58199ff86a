import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { UserError } from "../../domain/errors.js";
import { StrangeMessage } from "../../queue/compress-json.js";
import type { WorkerState } from "../../queue/messages.js";
import { listPublishedRuns, readPublishedRun } from "../../queue/run-manifests.js";
import { removeWorker, showWorker } from "../../queue/worker-presence.js";
import { refusalOf, type WorkerTerms } from "./refuse-run.js";
import type { WorkerResources } from "./worker-resources.js";
import { WorkerRun } from "./worker-run.js";

/** Slots of a worker whose `auto` finds out what a server takes. */
const MOST_SLOTS = 256;

/** The runs that a worker answers, refuses and has left. It joins and leaves them as they come and go. */
export class RunsOfWorker {
  private readonly id: string;
  /** The attempt at each run that the rest is about. */
  private published: ReadonlyMap<string, string> = new Map();
  private readonly joined = new Map<string, WorkerRun>();
  private readonly refused = new Map<string, string>();
  private readonly faults = new Map<string, NonNullable<WorkerRun["fault"]>>();
  private readonly leaving = new Map<WorkerRun, Promise<void>>();

  constructor(
    private readonly shared: WorkerResources,
    private readonly terms: () => WorkerTerms,
  ) {
    this.id = `${shared.name}-${randomBytes(4).toString("hex")}`;
  }

  /** Tasks under way. */
  get underWay(): number {
    return tasksOf(this.joined.values()) + tasksOf(this.leaving.keys());
  }

  /** Sees which runs there are, and shows what this worker does. */
  async look(): Promise<void> {
    const published = await listPublishedRuns(this.shared.redis);
    const isOver = (runId: string) => published.get(runId) !== this.published.get(runId);
    for (const [runId, run] of this.joined) {
      if (run.fault !== null) {
        this.faults.set(runId, run.fault);
        this.shared.context.note(`art-e: worker ${this.shared.name} leaves run ${runId}: ${run.fault.why}`);
      }
      if (run.fault !== null || isOver(runId)) this.leave(runId, run);
    }
    for (const known of [this.refused, this.faults]) {
      for (const runId of known.keys()) if (isOver(runId)) known.delete(runId);
    }
    this.published = published;
    for (const [runId, attempt] of published) await this.join(runId, attempt);
    this.shareSlots();
    await showWorker(this.shared.redis, this.state());
  }

  /** Lets what is under way end, and gives back what does not in time. */
  async stop(graceMs: number, stopNow: AbortSignal): Promise<void> {
    const runs = [...this.joined.values()];
    await Promise.all(runs.map((run) => run.pause()));
    const closed = Promise.all(runs.map((run) => run.close()));
    const ended = new AbortController();
    const patience = delay(graceMs, undefined, { signal: AbortSignal.any([stopNow, ended.signal]) }).catch(
      () => undefined,
    );
    await Promise.race([closed, patience]);
    ended.abort();
    for (const run of runs) run.abort();
    await closed;
    this.joined.clear();
  }

  async close(): Promise<void> {
    for (const [runId, run] of this.joined) {
      run.abort();
      this.leave(runId, run);
    }
    await Promise.all(this.leaving.values());
    if (this.shared.redis.status === "ready") await removeWorker(this.shared.redis, this.id);
  }

  private async join(runId: string, attempt: string): Promise<void> {
    if (this.joined.has(runId) || this.faults.has(runId)) return;
    const run = await this.open(runId, attempt);
    if (run === null) return;
    if (typeof run !== "string") {
      this.refused.delete(runId);
      this.joined.set(runId, run);
      this.shared.context.note(`art-e: worker ${this.shared.name} answers run ${runId}.`);
      return;
    }
    if (this.refused.get(runId) !== run)
      this.shared.context.note(`art-e: run ${runId} is left to other workers: ${run}.`);
    this.refused.set(runId, run);
  }

  /** A text: why not. Null: the run is gone. */
  private async open(runId: string, attempt: string): Promise<WorkerRun | string | null> {
    try {
      const manifest = await readPublishedRun(this.shared.redis, runId);
      if (manifest === null) return null;
      return refusalOf(manifest, this.terms()) ?? (await WorkerRun.open(manifest, attempt, this.shared));
    } catch (error) {
      if (error instanceof StrangeMessage) return error.message;
      if (error instanceof UserError) return `${error.message.replace(/\.$/, "")} (${error.hint.replace(/\.$/, "")})`;
      throw error;
    }
  }

  private leave(runId: string, run: WorkerRun): void {
    this.joined.delete(runId);
    if (run.fault !== null) run.abort();
    const left = run.close().finally(() => this.leaving.delete(run));
    this.leaving.set(run, left);
  }

  /** Runs with tasks share the slots; one without keeps a single slot, so that it sees the next. */
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
