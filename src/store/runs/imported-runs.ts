import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import type { RunStatus } from "../../domain/runs/run-status.js";
import type { Db } from "../connection/open-store.js";
import { addRunTags } from "./run-labels.js";
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
  readonly status: RunStatus;
  readonly tags: readonly string[];
}

/** Completes a run whose traces are saved. Nobody worked on it here. */
export function completeImportedRun(db: Db, run: ImportedRun): void {
  const { id, settings, totalTasks, startedAt, completedAt, status, tags } = run;
  db.prepare("UPDATE runs SET settings = ?, total_tasks = ?, started_at = ? WHERE id = ?").run(
    JSON.stringify(settings),
    totalTasks,
    startedAt,
    id,
  );
  addRunTags(db, id, tags);
  finishRun(db, id, status, completedAt, Math.max(0, Date.parse(completedAt) - Date.parse(startedAt)));
}
