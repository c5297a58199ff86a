// Saves finished tasks and paid replies on a thread. A trace and its result are one transaction.
import { UserError } from "../platform/errors.js";
import { builtFile } from "../platform/program-files.js";
import { WorkerRpc } from "../platform/worker-rpc.js";
import type { Db } from "../store/open-store.js";
import { type LockWait, WAIT_INDEFINITELY } from "../store/write-transaction.js";
import { canBeRetried } from "../tasks/ending.js";
import { epochKey, type TaskEpoch } from "../tasks/epoch-key.js";
import type { TaskResult } from "./task-result.js";
import type { Trace } from "./trace.js";

export interface ResultWriter {
  /**
   * Saves a task with its trace and deletes its reply journal. `abandoned` is an earlier attempt whose cost is not in
   * `trace`. Resolves to true after the commit, or to false if the wait was aborted while another program had locked
   * the file.
   */
  save(trace: Trace, result: TaskResult, abandoned?: AbandonedAttempt | null): Promise<boolean>;
  /**
   * Saves a paid reply. Resolves after the commit. If another program has locked the file, resolves at once and keeps
   * trying, because a running task cannot wait for as long as an import takes.
   */
  addReply(row: JournalRow): Promise<void>;
  /** Adds a trace to the recent ones if it could not be scored because the file cannot be read. */
  keep(trace: Trace): void;
  /** The most recent traces as JSON, saved or not. */
  recent(): readonly string[];
  close(): Promise<void>;
}

/** An earlier attempt at a task, of which only the cost counts. */
interface AbandonedAttempt {
  readonly trace: Trace;
  readonly result: TaskResult;
}

const YOUNG_GENERATION_MB = 8;

/**
 * Milliseconds to wait. Quick tasks that finish within this time share a transaction, because one transaction per task
 * takes twice the CPU time. Tasks that take seconds do not wait.
 */
const BATCH_DELAY_MS = 20;

export type SaveCall =
  | { readonly kind: "result"; readonly row: ResultRow }
  | { readonly kind: "reply"; readonly row: JournalRow }
  | { readonly kind: "last" };

/** The SQLite error, or null after a successful save. */
export type SaveOutcome = { readonly message: string; readonly code?: string | undefined } | null;

interface WriterOptions {
  readonly waiting?: LockWait;
  /** Whether each saved task adds one to the run's number of tasks. */
  readonly growing?: boolean;
}

/** The stored form of a paid reply. `entry` is JSON. */
interface JournalRow extends TaskEpoch {
  readonly runId: string;
  readonly position: number;
  readonly entry: string;
}

/** The stored form of a finished task. `trace` and `result` are JSON. */
interface ResultRow extends TaskEpoch {
  readonly runId: string;
  readonly traceId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly startedAt: string;
  readonly ending: string;
  readonly failed: 0 | 1;
  /** 1 if another attempt provides the task's result. Of this attempt, only the cost counts. */
  readonly superseded: 0 | 1;
  /** 1 if the run's tasks were not known in advance, and this is an additional one. */
  readonly growing: 0 | 1;
  readonly score: number | null;
  readonly trace: string;
  readonly result: string;
  /** Earlier attempt to save with this one, if there is one. */
  readonly abandoned: ResultRow | null;
}

const MAX_CHARS = 1_000_000;

/** The last traces of a run as JSON, up to `MAX_CHARS`, in case the database file is lost. */
class RecentTraces {
  private traces: string[] = [];
  private length = 0;

  add(trace: string): void {
    this.traces.push(trace);
    this.length += trace.length;
    while (this.length > MAX_CHARS && this.traces.length > 1) this.length -= this.traces.shift()?.length ?? 0;
  }

  all(): readonly string[] {
    return this.traces;
  }
}

/**
 * Creates a writer that saves on a thread, so that the disk never blocks running tasks. Tasks that finish together
 * share a transaction. While another program has locked the file, saves wait.
 */
export function threadedResultWriter(
  path: string,
  { waiting = WAIT_INDEFINITELY, growing = false }: WriterOptions = {},
): ResultWriter {
  const file = builtFile("traces/result-writer/result-writer-thread.js");
  const thread = new WorkerRpc<SaveCall, SaveOutcome>(file, {
    data: { path },
    youngGenerationMb: YOUNG_GENERATION_MB,
    batchDelayMs: BATCH_DELAY_MS,
  });
  const recent = new RecentTraces();
  /** Tasks whose result is being saved. Their late replies are dropped. */
  const saved = new Set<string>();
  const call = async (save: SaveCall): Promise<"saved" | "locked"> => {
    const failure = await thread.call(save, { isUrgent: save.kind === "reply" });
    if (failure === null) return "saved";
    if (failure.code?.startsWith("SQLITE_BUSY")) return "locked";
    throw unwritable(path, failure);
  };
  return {
    recent: () => recent.all(),
    keep: (trace) => recent.add(JSON.stringify(trace)),
    async save(trace, result, abandoned = null) {
      const row = { ...toResultRow(trace, result, abandoned), growing: growing ? 1 : 0 } as const;
      recent.add(row.trace);
      const key = epochKey(row);
      saved.add(key);
      try {
        while ((await call({ kind: "result", row })) === "locked") {
          if (waiting.signal.aborted) return false;
          waiting.onWait();
        }
        return true;
      } finally {
        saved.delete(key);
      }
    },
    async addReply(row) {
      if ((await call({ kind: "reply", row })) === "saved") return;
      waiting.onWait();
      const retry = async () => {
        while (!waiting.signal.aborted && !saved.has(epochKey(row))) {
          if ((await call({ kind: "reply", row })) === "saved") return;
        }
      };
      // If the file cannot be written, saving the task reports it.
      retry().catch(() => undefined);
    },
    async close() {
      // If the log cannot be truncated, nothing is lost, because all saves are committed.
      await thread.call({ kind: "last" }).catch(() => undefined);
      await thread.close();
    },
  };
}

function unwritable(path: string, { message, code }: NonNullable<SaveOutcome>): Error {
  if (code === undefined) return new Error(message);
  return new UserError(
    "db_unwritable",
    `Cannot write ${path}: ${message}.`,
    "Finished tasks are saved. Check that the disk works and has free space, then continue with --resume latest.",
    1,
  );
}

export function toResultRow(trace: Trace, result: TaskResult, abandoned: AbandonedAttempt | null = null): ResultRow {
  return {
    runId: trace.runId,
    taskId: trace.taskId,
    epoch: trace.epoch,
    traceId: trace.traceId,
    agentId: trace.agentId,
    sessionId: trace.sessionId,
    startedAt: trace.startedAt,
    ending: trace.ending,
    failed: canBeRetried(trace.ending) ? 1 : 0,
    superseded: 0,
    growing: 0,
    score: result.semanticScore,
    trace: JSON.stringify(trace),
    result: JSON.stringify(result),
    abandoned: abandoned === null ? null : { ...toResultRow(abandoned.trace, abandoned.result), superseded: 1 },
  };
}

/**
 * Returns a function that saves trace and result of a task and deletes its reply journal, in one transaction. A new
 * attempt supersedes the previous one, unless it was abandoned.
 */
export function openRowWriter(db: Db): (row: ResultRow) => void {
  const addTrace = db.prepare(
    `INSERT INTO traces (id, run_id, task_id, agent_id, session_id, started_at, ending, trace)
     VALUES (@traceId, @runId, @taskId, @agentId, @sessionId, @startedAt, @ending, @trace)`,
  );
  const supersede = db.prepare(
    "UPDATE results SET superseded = 1 WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND superseded = 0 AND NOT @superseded",
  );
  const addResult = db.prepare(
    `INSERT INTO results (run_id, task_id, epoch, attempt, trace_id, failed, superseded, semantic_score, result)
     VALUES (@runId, @taskId, @epoch,
       (SELECT 1 + count(*) FROM results WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch),
       @traceId, @failed, @superseded, @score, @result)`,
  );
  const grow = db.prepare("UPDATE runs SET total_tasks = total_tasks + 1 WHERE id = ?");
  const eraseJournal = db.prepare(
    "DELETE FROM reply_journal WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch",
  );
  const add = ({ abandoned, ...row }: ResultRow) => {
    if (abandoned !== null) add(abandoned);
    supersede.run(row);
    addTrace.run(row);
    addResult.run(row);
    eraseJournal.run(row);
    if (row.growing === 1) grow.run(row.runId);
  };
  return db.transaction(add);
}

/** Returns a function that stores a reply. A reply that arrives after its task was finished elsewhere is dropped. */
export function openJournalWriter(db: Db): (row: JournalRow) => void {
  const insert = db.prepare(
    `INSERT OR REPLACE INTO reply_journal (run_id, task_id, epoch, position, entry)
     SELECT @runId, @taskId, @epoch, @position, @entry WHERE NOT EXISTS (
       SELECT 1 FROM results
       WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND superseded = 0 AND failed = 0)`,
  );
  return (row) => void insert.run(row);
}
