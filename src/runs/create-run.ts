import { readFingerprint } from "../mail/corpus.js";
import { chunk, yieldBetween } from "../platform/async.js";
import { type Db, type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../store/open-store.js";
import type { PlannedTask, TaskSet } from "../tasks/question.js";
import { saveRunTasks, saveTasks, tasksAt } from "../traces/results-store.js";
import { NO_LIMITS, type RunLimits, type RunSettings } from "../traces/run-settings.js";
import { acquireRunLock, addRunTags, insertRun, type RunOwner, setRunName } from "../traces/runs-store.js";
import type { TaskResult } from "../traces/task-result.js";

/** The tasks of one attempt at a run, and the results of earlier ones. Both are read from the database one by one. */
export interface RunSession {
  readonly tasks: Iterable<PlannedTask>;
  readonly left: number;
  /** Tasks that earlier attempts finished. */
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

/** Tasks inserted per event loop tick: a few milliseconds. */
const AT_ONCE = 100;

/**
 * Questions per transaction. Each transaction rewrites the index's pages, which would be most of the log for few
 * questions.
 */
const A_TRANSACTION = 2_000;

/**
 * Lays a new run down in the file, with all that is to be answered, and gives the loop back now and then. The run is
 * there as a whole or not at all; questions without a run are of no consequence. Nobody else may use the connection
 * meanwhile.
 */
export async function createRun(db: Db, request: NewRunRequest): Promise<RunSession> {
  const { runId, name, tags = [], set, tasks, settings, worker, waiting = WAIT_INDEFINITELY } = request;
  const { limits = NO_LIMITS, output = null } = request;
  const datasetId = await withWriteTransaction(db, waiting, () => saveTasks(db, set, []));
  for (const many of chunk(tasks, A_TRANSACTION)) {
    await withWriteTransaction(db, waiting, async () => {
      for await (const some of yieldBetween(chunk(many, AT_ONCE))) {
        const these = some.map(({ task }) => task);
        saveTasks(db, set, these);
      }
    });
  }
  await withWriteTransaction(db, waiting, async () => {
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
    let before = 0;
    for await (const some of yieldBetween(chunk(tasks, AT_ONCE))) {
      saveRunTasks(db, runId, some, before);
      before += some.length;
    }
    acquireRunLock(db, runId, worker);
  });
  const positions = Array.from(tasks, (_, i) => i + 1);
  return { tasks: tasksAt(db, runId, positions), left: positions.length, finished: 0, done: noResults() };
}

async function* noResults(): AsyncGenerator<TaskResult> {}
