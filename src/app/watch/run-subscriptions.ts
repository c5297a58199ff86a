import type { RunProcessState, RunProgress } from "../../domain/runs/run-progress.js";
import type { Db } from "../../store/connection/open-store.js";
import { RunProgressReader } from "./run-progress-reader.js";

/** How often the file is looked at. */
const POLL_MS = 500;

/** Reading takes at most this share of the time. */
const MOST_BUSY = 0.1;

export type ProgressListener = (progress: RunProgress) => void;

/** What a server knows of the runs that its own process executes. */
export type ProcessOf = (runId: string) => RunProcessState | null;

/** Tells listeners how far runs have got, whenever that changes. Those of one run share one reader. */
export class RunSubscriptions {
  private readonly byRun = new Map<string, PolledRun>();

  /**
   * @param processOf null for runs of other processes
   * @param onFault called with what could not be read; the run is looked at again later
   */
  constructor(
    private readonly db: Db,
    private readonly processOf: ProcessOf,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Calls the listener with the present progress, and with every later one, until the function returned is called. */
  subscribe(runId: string, listener: ProgressListener): () => void {
    let run = this.byRun.get(runId);
    if (run === undefined) {
      run = new PolledRun(new RunProgressReader(this.db, runId), () => this.processOf(runId), this.onFault);
      this.byRun.set(runId, run);
    }
    const polled = run;
    polled.add(listener);
    return () => {
      polled.remove(listener);
      if (polled.isIdle && this.byRun.get(runId) === polled) this.byRun.delete(runId);
    };
  }

  /** Reads all runs once more, and tells their listeners. */
  async refresh(): Promise<void> {
    await Promise.all([...this.byRun.values()].map((run) => run.poll()));
  }
}

class PolledRun {
  private readonly listeners = new Set<ProgressListener>();
  private newest: RunProgress | null = null;
  private newestJson = "";
  /** What `newest` tells can change by a write to the file alone: nobody executes the run. */
  private hasEnded = false;
  private timer: NodeJS.Timeout | undefined;
  /** The reader must not be called again before it is done. */
  private polling: Promise<void> = Promise.resolve();

  constructor(
    private readonly reader: RunProgressReader,
    private readonly processState: () => RunProcessState | null,
    private readonly onFault: (error: unknown) => void,
  ) {}

  get isIdle(): boolean {
    return this.listeners.size === 0;
  }

  add(listener: ProgressListener): void {
    this.listeners.add(listener);
    if (this.newest !== null) listener(this.newest);
    if (this.listeners.size === 1) void this.poll();
  }

  remove(listener: ProgressListener): void {
    this.listeners.delete(listener);
    if (this.isIdle) clearTimeout(this.timer);
  }

  poll(): Promise<void> {
    clearTimeout(this.timer);
    this.polling = this.polling.then(() => this.pollOnce());
    return this.polling;
  }

  private async pollOnce(): Promise<void> {
    const startedAt = performance.now();
    try {
      const hasChanged = await this.reader.read();
      const process = this.processState();
      if (hasChanged || process !== null || !this.hasEnded) this.publish(this.reader.progress(process));
    } catch (error) {
      this.hasEnded = false;
      this.onFault(error);
    }
    clearTimeout(this.timer);
    if (this.isIdle) return;
    const tookMs = performance.now() - startedAt;
    this.timer = setTimeout(() => this.poll(), Math.max(POLL_MS, tookMs / MOST_BUSY)).unref();
  }

  private publish(progress: RunProgress): void {
    // The rate alone changes with every millisecond.
    const json = JSON.stringify({ ...progress, tasksPerMinute: null });
    this.newest = progress;
    this.hasEnded = progress.status !== "running" && progress.process === null;
    if (json === this.newestJson) return;
    this.newestJson = json;
    for (const listener of this.listeners) listener(progress);
  }
}
