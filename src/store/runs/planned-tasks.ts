import type { PlannedSuiteTask, PlannedTask, Task } from "../../domain/tasks/planned-task.js";
import { isQuestion, questionSchema } from "../../domain/tasks/question.js";
import type { TaskSet } from "../../domain/tasks/suite.js";
import { chunk } from "../../platform/split-into-chunks.js";
import type { Db } from "../connection/open-store.js";

/** Saves the tasks of a run and their dataset. Returns the dataset's id in the file. */
export function saveTasks(db: Db, set: TaskSet, tasks: readonly Task[]): string {
  const id = set.sha256.slice(0, 16);
  const addSuiteTask = db.prepare("INSERT OR IGNORE INTO suite_tasks (dataset_id, id, task) VALUES (?, ?, ?)");
  const addQuestion = db.prepare(
    `INSERT OR IGNORE INTO art_e_tasks
       (dataset_id, id, question, answer, message_ids, inbox_address, query_date, how_realistic, split)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  db.transaction(() => {
    db.prepare("INSERT OR IGNORE INTO datasets (id, source, revision, sha256) VALUES (?, ?, ?, ?)").run(
      id,
      set.source,
      set.revision,
      set.sha256,
    );
    for (const task of tasks) {
      if (!isQuestion(task)) {
        addSuiteTask.run(id, task.id, JSON.stringify(task));
        continue;
      }
      const q = task;
      addQuestion.run(
        id,
        q.id,
        q.question,
        q.answer,
        JSON.stringify(q.message_ids),
        q.inbox_address,
        q.query_date,
        q.how_realistic,
        q.split ?? set.split,
      );
    }
  })();
  return id;
}

/** Saves the task order of a run, after the first `before` tasks. */
export function saveRunTasks(db: Db, runId: string, tasks: readonly PlannedTask[], before = 0): void {
  const add = db.prepare("INSERT INTO run_tasks (run_id, position, task_id, epoch) VALUES (?, ?, ?, ?)");
  tasks.forEach(({ task, epoch }, i) => {
    add.run(runId, before + i + 1, task.id, epoch);
  });
}

/** Tasks read per query: few, as reading blocks the event loop of the running tasks. */
const TASKS_READ_AHEAD = 20;

/**
 * The tasks at these positions of a run's order, read in small batches, as all of a run's tasks need not be in
 * memory.
 */
export function* tasksAt(db: Db, runId: string, positions: readonly number[]): Generator<PlannedTask> {
  const select = db.prepare(
    `SELECT q.*, t.epoch, s.task AS suiteTask ${PLANNED} AND t.position IN (SELECT value FROM json_each(@some)) ORDER BY t.position`,
  );
  for (const some of chunk(positions, TASKS_READ_AHEAD)) {
    const rows = select.all({ runId, some: JSON.stringify(some) }) as TaskRow[];
    // With a task missing, the run could never be completed.
    const missing = some.length - rows.length;
    if (missing > 0) throw new Error(`${missing} of ${some.length} tasks of run ${runId} are not in the file`);
    for (const row of rows) yield toTask(row);
  }
}

const PLANNED = `FROM run_tasks t
  JOIN runs r ON r.id = t.run_id
  LEFT JOIN art_e_tasks q ON q.dataset_id = r.dataset_id AND q.split = r.split AND q.id = t.task_id
  LEFT JOIN suite_tasks s ON s.dataset_id = r.dataset_id AND s.id = t.task_id
  WHERE t.run_id = @runId AND coalesce(q.id, s.id) IS NOT NULL`;

/** Positions checked per query, which takes a few milliseconds. */
const PAGE = 100;

/**
 * Positions of the tasks without a result and, with `retryFailed`, of those whose last attempt failed. Yields one
 * list per page of the order, possibly empty.
 */
export function* remainingPositions(db: Db, runId: string, retryFailed: boolean): Generator<readonly number[]> {
  const select = db
    .prepare(
      `SELECT t.position ${PLANNED} AND t.position > @after AND t.position <= @after + ${PAGE} AND NOT EXISTS (
         SELECT 1 FROM results x WHERE x.run_id = t.run_id AND x.task_id = t.task_id AND x.epoch = t.epoch
           AND x.superseded = 0 AND NOT (x.failed AND @retryFailed))
       ORDER BY t.position`,
    )
    .pluck();
  const last = db.prepare("SELECT max(position) FROM run_tasks WHERE run_id = ?").pluck().get(runId) as number | null;
  for (let after = 0; after < (last ?? 0); after += PAGE) {
    yield select.all({ runId, after, retryFailed: retryFailed ? 1 : 0 }) as number[];
  }
}

type TaskRow = Record<string, unknown> & { message_ids: string; epoch: number; suiteTask: string | null };

function toTask({ epoch, suiteTask, ...row }: TaskRow): PlannedTask {
  // Written by this program, from a task that its schema had checked.
  if (suiteTask !== null) return { task: JSON.parse(suiteTask) as PlannedSuiteTask, epoch };
  return { task: questionSchema.parse({ ...row, message_ids: JSON.parse(row.message_ids) }), epoch };
}
