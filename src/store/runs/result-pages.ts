import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Db } from "../connection/open-store.js";

/** Some of a run's results, in the order of the task ids and their repeats; `total` counts all of them. */
export function pageOfResults(
  db: Db,
  runId: string,
  offset: number,
  limit: number,
): { readonly results: TaskResult[]; readonly total: number } {
  const total = db
    .prepare("SELECT count(*) FROM results WHERE run_id = ? AND superseded = 0")
    .pluck()
    .get(runId) as number;
  const rows = db
    .prepare(
      "SELECT result FROM results WHERE run_id = ? AND superseded = 0 ORDER BY task_id, epoch, attempt LIMIT ? OFFSET ?",
    )
    .pluck()
    .all(runId, limit, offset) as string[];
  return { results: rows.map((row) => JSON.parse(row) as TaskResult), total };
}
