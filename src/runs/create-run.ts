// Writes a new run with its tasks to the database.
import { readFingerprint } from "../mail/corpus.js";
import { chunk } from "../platform/batches.js";
import type { Db } from "../store/open-store.js";
import { type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../store/write-transaction.js";
import type { PlannedTask, TaskSet } from "../tasks/question.js";
import { saveRunTasks, saveTasks, tasksAt } from "../traces/results-store.js";
import { acquireRunLock, type RunOwner } from "../traces/run-lock.js";
import { NO_LIMITS, type RunLimits, type RunSettings } from "../traces/run-settings.js";
import { addRunTags, insertRun, setRunName } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";

/**
 * The tasks of one attempt at a run, and the results of earlier attempts. Both are read from the database one at a
 * time.
 */
export interface RunSession {
  readonly tasks: Iterable<PlannedTask>;
  readonly left: number;
  /** Number of tasks finished in earlier attempts. */
  readonly finished: number;
  readonly done: AsyncIterable<TaskResult>;
}

export interface NewRunRequest {
  readonly runId: string;
  readonly name?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly set: TaskSet;
  readonly tasks: readonly PlannedTask[];
  readonly settings: RunSettings;
  readonly limits?: RunLimits;
  readonly output?: string | null;
  readonly worker: RunOwner;
  readonly waiting?: LockWait;
}

/**
 * Questions per transaction, which takes 20 ms. Each transaction rewrites the index pages, which would be most of the
 * log if there were only a few questions per transaction.
 */
const A_TRANSACTION = 2_000;

/**
 * Writes a new run with all its tasks to the database. The run exists completely or not at all, and questions without a
 * run have no effect. Inserting the tasks takes 20 ms per 10,000.
 */
export async function createRun(db: Db, request: NewRunRequest): Promise<RunSession> {
  const { runId, name, tags = [], set, tasks, settings, worker, waiting = WAIT_INDEFINITELY } = request;
  const { limits = NO_LIMITS, output = null } = request;
  const datasetId = await withWriteTransaction(db, waiting, () => saveTasks(db, set, []));
  for (const many of chunk(tasks, A_TRANSACTION)) {
    await withWriteTransaction(db, waiting, () => saveTasks(db, set, many));
  }
  await withWriteTransaction(db, waiting, () => {
    insertRun(db, {
      id: runId,
      agentId: settings.agentId,
      model: settings.model,
      datasetId,
      source: set.source,
      revision: set.revision,
      split: set.split,
      settings,
      limits,
      output,
      corpusFingerprint: readFingerprint(db) ?? "",
      totalTasks: tasks.length,
      startedAt: new Date().toISOString(),
    });
    if (name !== undefined) setRunName(db, runId, name);
    addRunTags(db, runId, tags);
    saveRunTasks(db, runId, tasks);
    acquireRunLock(db, runId, worker);
  });
  const positions = Array.from(tasks, (_, i) => i + 1);
  return { tasks: tasksAt(db, runId, positions), left: positions.length, finished: 0, done: noResults() };
}

async function* noResults(): AsyncGenerator<TaskResult> {}
