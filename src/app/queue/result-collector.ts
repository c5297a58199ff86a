import type { Trace } from "../../domain/runs/trace.js";
import type { RunManifest } from "../../queue/messages.js";
import type { FinishedTask, RunQueue } from "../../queue/run-queue.js";
import type { OutstandingTasks } from "./outstanding-tasks.js";
import { readResult, readTraceId } from "./read-result.js";
import type { WorkersWatch } from "./workers-watch.js";

/** Results read per round trip. */
const AT_ONCE = 200;

export interface CollectRequest {
  readonly manifest: RunManifest;
  /** Whether the trace is in the database already. */
  isSaved(traceId: string): boolean;
  onTrace(trace: Trace): void;
}

/**
 * Takes the results of a run from its queue. A result stays there until it is saved, so that a coordinator that is
 * killed finds it again.
 */
export class ResultCollector {
  /** Results that were read: to be saved, or of no task that is asked now. */
  private readonly seen = new Set<string>();
  /** Results that are saved, and still on the queue. */
  private unneeded: string[] = [];
  /** Failures that may be the server's: not saved so far. */
  private readonly held = new Set<string>();

  constructor(
    private readonly queue: RunQueue,
    private readonly tasks: OutstandingTasks,
    private readonly watch: WorkersWatch,
    private readonly request: CollectRequest,
  ) {}

  /** The task is asked for: its result may have waited here since an earlier attempt at the run. */
  expect(id: string): void {
    this.seen.delete(id);
  }

  /** The result is no longer needed for a resumed run. */
  saved(id: string): void {
    this.unneeded.push(id);
  }

  async removeSaved(): Promise<void> {
    const ids = this.unneeded.splice(0);
    await Promise.all(ids.map((id) => this.queue.remove(id)));
    for (const id of ids) {
      this.seen.delete(id);
      this.held.delete(id);
    }
  }

  async removeHeld(): Promise<void> {
    for (const id of this.held) await this.queue.remove(id);
  }

  /** Settles the tasks whose results have come. Returns how many results there were. */
  async collect(): Promise<number> {
    const ids = (await this.queue.finishedIds(AT_ONCE + this.seen.size)).filter((id) => !this.seen.has(id));
    for (const finished of await this.queue.read(ids)) await this.takeIn(finished);
    return ids.length;
  }

  private async takeIn(finished: FinishedTask): Promise<void> {
    const { id } = finished;
    const planned = this.tasks.planned(id);
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
      this.tasks.send(id);
      return;
    }
    this.seen.add(id);
    if (isHeld) this.held.add(id);
    this.watch.heard(server, trace);
    this.request.onTrace(trace);
    this.tasks.settle(id, { trace, isHeld });
  }

  private async isOfSavedTrace(finished: FinishedTask): Promise<boolean> {
    const traceId = await readTraceId(finished);
    return traceId !== null && this.request.isSaved(traceId);
  }
}
