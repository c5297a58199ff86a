import { type PlannedTask, questionSchema } from "../domain/question.js";
import type { Db } from "./open.js";

/** Keeps what a run is to answer, in its order. */
export function saveRunTasks(db: Db, runId: string, tasks: readonly PlannedTask[]): void {
  const add = db.prepare("INSERT INTO run_tasks (run_id, position, task_id, epoch) VALUES (?, ?, ?, ?)");
  tasks.forEach(({ question, epoch }, i) => {
    add.run(runId, i + 1, question.id, epoch);
  });
}

/** All that a run was to answer, in its order. */
export function plannedTasks(db: Db, runId: string): PlannedTask[] {
  const rows = db
    .prepare(
      `SELECT q.*, t.epoch FROM run_tasks t
       JOIN runs r ON r.id = t.run_id
       JOIN art_e_tasks q ON q.dataset_id = r.dataset_id AND q.split = r.split AND q.id = t.task_id
       WHERE t.run_id = ? ORDER BY t.position`,
    )
    .all(runId) as TaskRow[];
  return rows.map(toTask);
}

/** What is left of a run: tasks without a result and, if wanted, those whose last attempt failed. In the run's order. */
export function remainingTasks(db: Db, runId: string, retryFailed: boolean): PlannedTask[] {
  const rows = db
    .prepare(
      `SELECT q.*, t.epoch FROM run_tasks t
       JOIN runs r ON r.id = t.run_id
       JOIN art_e_tasks q ON q.dataset_id = r.dataset_id AND q.split = r.split AND q.id = t.task_id
       WHERE t.run_id = @runId AND NOT EXISTS (
         SELECT 1 FROM results x WHERE x.run_id = t.run_id AND x.task_id = t.task_id AND x.epoch = t.epoch
           AND x.superseded = 0 AND NOT (x.failed AND @retryFailed))
       ORDER BY t.position`,
    )
    .all({ runId, retryFailed: retryFailed ? 1 : 0 }) as TaskRow[];
  return rows.map(toTask);
}

type TaskRow = Record<string, unknown> & { message_ids: string; epoch: number };

function toTask({ epoch, ...row }: TaskRow): PlannedTask {
  return { question: questionSchema.parse({ ...row, message_ids: JSON.parse(row.message_ids) }), epoch };
}
