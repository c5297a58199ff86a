// Shows a queue's runs and workers, warns if no worker takes a run, and removes runs.
import type { Redis } from "ioredis";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { WorkersState } from "../runs/answer-task.js";
import type { ServerFault } from "../runs/detect-dead-server.js";
import type { Trace } from "../traces/trace.js";
import { connectRedis, parseQueueUrl, StrangeMessage } from "./connection/redis.js";
import { type QueueCounts, RunQueue } from "./protocol/run-queue.js";
import {
  listPublishedRuns,
  listWorkers,
  type ResultMessage,
  type RunManifest,
  readPublishedRun,
  type WorkerState,
  withdrawRun,
} from "./protocol/shared-state.js";
import { shorten } from "./protocol/worker-refusals.js";

interface QueuedRun extends QueueCounts {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly corpus: string;
  readonly workers: readonly string[];
  /** Why the run's description cannot be used, or null if it can. */
  readonly fault: string | null;
}

export interface QueueStatus {
  /** URL of the server, without its password. */
  readonly queue: string;
  readonly runs: readonly QueuedRun[];
  readonly workers: readonly {
    readonly name: string;
    readonly version: string;
    readonly runs: readonly string[];
    readonly underWay: number;
    readonly answered: number;
  }[];
}

/** Number of checks within which workers report after they start or find Redis again. */
const PATIENCE_LOOKS = 6;

export class WorkersWatch {
  fault: ServerFault | null = null;
  private last: { readonly server: ResultMessage["server"]; readonly error: string | null } | null = null;
  private workers: readonly WorkerState[] = [];
  private active = 0;
  private readonly noted = new Set<string>();
  /** Successful checks since a worker last answered this run. While Redis is away, none succeeds. */
  private emptyLooks = 0;

  constructor(
    private readonly redis: Redis,
    private readonly manifest: RunManifest,
    private readonly note: (text: string) => void,
  ) {}

  /** Whether the last result came from a server that responds. */
  get isAnswering(): boolean {
    return this.last === null || this.last.server === "answering";
  }

  heard(server: ResultMessage["server"], { error }: Trace): void {
    this.last = { server, error };
  }

  /** Ends the watch when no task is left. A server that is still unreachable is a fault of the entire run. */
  close(): void {
    if (this.fault !== null || this.last?.server !== "unreachable") return;
    this.fault = { by: "server", why: `the server does not respond: ${this.last.error ?? "unknown reason"}` };
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

  /** Returns whether no worker answers an earlier attempt at the run. A dead worker is forgotten after some seconds. */
  async isKnownEverywhere(attempt: string): Promise<boolean> {
    const { runId } = this.manifest;
    const workers = await listWorkers(this.redis);
    return workers.every(({ runs }) => runs[runId] === undefined || runs[runId].attempt === attempt);
  }

  async look(active: number): Promise<void> {
    const { runId } = this.manifest;
    this.active = active;
    this.workers = await listWorkers(this.redis);
    const atWork = this.workers.filter(({ runs }) => runs[runId] !== undefined);
    for (const { name, refused, faults } of this.workers) {
      const why = faults[runId]?.why ?? refused[runId];
      if (why !== undefined) this.noteOnce(`art-e: worker ${name} is not working on this run: ${why}`);
    }
    this.emptyLooks = atWork.length > 0 ? 0 : this.emptyLooks + 1;
    if (atWork.length > 0) return;
    const fault = this.workers.find(({ faults }) => faults[runId] !== undefined)?.faults[runId];
    if (fault !== undefined && active === 0) this.fault = fault;
    else if (this.emptyLooks > PATIENCE_LOOKS) this.noteOnce(noWorker());
  }

  private noteOnce(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.note(text);
  }
}

const noWorker = () =>
  `art-e: no worker is working on this run yet. Start one: ${commandLine`art-e worker --queue URL`}`;

export function readQueueStatus(url: string): Promise<QueueStatus> {
  return withQueue(url, async (redis, address) => {
    const workers = await listWorkers(redis);
    const ids = [...(await listPublishedRuns(redis)).keys()];
    const runs: QueuedRun[] = [];
    for (const runId of ids) {
      const names = workers.filter((worker) => worker.runs[runId] !== undefined).map(({ name }) => name);
      runs.push({ ...(await describeRun(redis, runId)), workers: names });
    }
    return {
      queue: address,
      runs,
      workers: workers.map(({ name, programVersion, runs: own }) => ({
        name,
        version: programVersion,
        runs: Object.keys(own),
        underWay: Object.values(own).reduce((sum, { active }) => sum + active, 0),
        answered: Object.values(own).reduce((sum, { answered }) => sum + answered, 0),
      })),
    };
  });
}

/** Removes runs from a queue, including their uncollected results. Returns the ids of the removed runs. */
export function cleanQueue(url: string, only: string | undefined): Promise<readonly string[]> {
  return withQueue(url, async (redis) => {
    const ids = [...(await listPublishedRuns(redis)).keys()];
    const selectedIds = only === undefined ? ids : ids.filter((runId) => runId.startsWith(only));
    for (const runId of selectedIds) {
      const queue = new RunQueue(redis, runId, { isVisitor: true });
      await queue.obliterate();
      await queue.close();
      await withdrawRun(redis, runId);
    }
    return selectedIds;
  });
}

async function describeRun(redis: Redis, runId: string): Promise<Omit<QueuedRun, "workers">> {
  const queue = new RunQueue(redis, runId, { isVisitor: true });
  let counts: QueueCounts = { waiting: 0, active: 0, finished: 0 };
  try {
    counts = await queue.counts();
    const manifest = await readPublishedRun(redis, runId);
    if (manifest === null) throw new StrangeMessage("its description is missing");
    const { settings, corpusFingerprint } = manifest;
    const { agentId, model } = settings;
    return { runId, agentId, model, corpus: shorten(corpusFingerprint), ...counts, fault: null };
  } catch (error) {
    if (!(error instanceof StrangeMessage || error instanceof UserError)) throw error;
    return { runId, agentId: "", model: "", corpus: "", ...counts, fault: error.message };
  } finally {
    await queue.close();
  }
}

/** Connects to a queue, whose refused commands fail, and disconnects after `use`. */
export async function withQueue<T>(url: string, use: (redis: Redis, address: string) => Promise<T>): Promise<T> {
  const address = parseQueueUrl(url);
  const redis = await connectRedis(address, null);
  try {
    return await use(redis, address.displayUrl);
  } finally {
    redis.abandon();
  }
}
