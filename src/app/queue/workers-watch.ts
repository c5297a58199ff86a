import type { Redis } from "ioredis";
import type { Trace } from "../../domain/runs/trace.js";
import type { ResultMessage, RunManifest, WorkerState } from "../../queue/messages.js";
import { listWorkers } from "../../queue/worker-presence.js";
import type { WorkersState } from "../run/answer/task-answerer.js";
import type { ServerFault } from "../run/detect-dead-server.js";

/** Workers show themselves within this time after they start. */
const PATIENCE_MS = 3_000;

/** Watches the workers of a run: how many there are, why others are not, and whether none can answer. */
export class WorkersWatch {
  private found: ServerFault | null = null;
  private last: { readonly server: ResultMessage["server"]; readonly error: string | null } | null = null;
  private workers: readonly WorkerState[] = [];
  private active = 0;
  private readonly noted = new Set<string>();
  private readonly startedAt = performance.now();

  constructor(
    private readonly redis: Redis,
    private readonly manifest: RunManifest,
    private readonly note: (text: string) => void,
  ) {}

  /** Why no worker can answer any further task. */
  get fault(): ServerFault | null {
    return this.found;
  }

  /** Whether the last result came from a server that answers. */
  get isAnswering(): boolean {
    return this.last === null || this.last.server === "answering";
  }

  heard(server: ResultMessage["server"], { error }: Trace): void {
    this.last = { server, error };
  }

  /** No task is left: a server that cannot be reached any more is dead for more than these tasks. */
  close(): void {
    if (this.found !== null || this.last?.server !== "unreachable") return;
    this.found = { by: "server", why: `the server does not answer: ${this.last.error ?? "no reason was given"}` };
  }

  state(): WorkersState {
    const { runId } = this.manifest;
    const own = this.workers.flatMap(({ name, runs }) => (runs[runId] === undefined ? [] : [{ name, ...runs[runId] }]));
    return {
      workers: own.map(({ name, perSecond }) => ({ name, perSecond })),
      active: this.active,
      waitingFor: own.find(({ waitingFor }) => waitingFor !== null)?.waitingFor ?? null,
    };
  }

  /** Whether no worker answers an earlier attempt at the run. One that died is forgotten after some seconds. */
  async isKnownEverywhere(attempt: string): Promise<boolean> {
    const { runId } = this.manifest;
    const workers = await listWorkers(this.redis);
    return workers.every(({ runs }) => runs[runId] === undefined || runs[runId].attempt === attempt);
  }

  /** @param active tasks that workers have */
  async look(active: number): Promise<void> {
    const { runId } = this.manifest;
    this.active = active;
    this.workers = await listWorkers(this.redis);
    const atWork = this.workers.filter(({ runs }) => runs[runId] !== undefined);
    for (const { name, refused, faults } of this.workers) {
      const why = faults[runId]?.why ?? refused[runId];
      if (why !== undefined) this.noteOnce(`art-e: worker ${name} does not answer this run: ${why}`);
    }
    if (atWork.length > 0) return;
    const fault = this.workers.find(({ faults }) => faults[runId] !== undefined)?.faults[runId];
    if (fault !== undefined && active === 0) this.found = fault;
    else if (performance.now() - this.startedAt > PATIENCE_MS) this.noteOnce(NO_WORKER);
  }

  private noteOnce(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.note(text);
  }
}

const NO_WORKER = "art-e: no worker answers this run yet. Start one: art-e worker --queue URL --db FILE";
