import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import type { Db } from "../connection/open-store.js";
import { finishRun } from "./runs.js";

export function hasRun(db: Db, id: string): boolean {
  return db.prepare("SELECT 1 FROM runs WHERE id = ?").get(id) !== undefined;
}

export function hasTrace(db: Db, id: string): boolean {
  return db.prepare("SELECT 1 FROM traces WHERE id = ?").get(id) !== undefined;
}

/** What is known of an imported run once all of its traces were read. */
export interface ImportedRun {
  readonly id: string;
  readonly settings: RunSettings;
  readonly totalTasks: number;
  readonly startedAt: string;
  readonly completedAt: string;
}

/** Completes a run whose traces are saved. Nobody worked on it here. */
export function completeImportedRun(db: Db, { id, settings, totalTasks, startedAt, completedAt }: ImportedRun): void {
  db.prepare("UPDATE runs SET settings = ?, total_tasks = ?, started_at = ? WHERE id = ?").run(
    JSON.stringify(settings),
    totalTasks,
    startedAt,
    id,
  );
  finishRun(db, id, "completed", completedAt, Math.max(0, Date.parse(completedAt) - Date.parse(startedAt)));
}
