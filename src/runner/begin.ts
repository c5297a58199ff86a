import type { PlannedTask, QuestionSet } from "../domain/question.js";
import type { RunSettings, TaskResult } from "../domain/result.js";
import { readFingerprint } from "../store/corpus-stats.js";
import type { Db } from "../store/open.js";
import { saveQuestions } from "../store/questions.js";
import { remainingTasks, saveRunTasks } from "../store/run-tasks.js";
import { iterateResults, type RunRow, reopenRun, startRun } from "../store/runs.js";
import { takeRun, type Worker } from "./worker.js";

/** What a session of a run has to do, and what earlier ones have done. */
export interface Session {
  readonly tasks: readonly PlannedTask[];
  /** How many tasks earlier sessions have finished. */
  readonly finished: number;
  /** Their results, read from the file one by one. */
  readonly done: Iterable<TaskResult>;
}

export interface NewRunRequest {
  readonly runId: string;
  readonly set: QuestionSet;
  readonly tasks: readonly PlannedTask[];
  readonly settings: RunSettings;
  readonly worker: Worker;
}

/** Lays a new run down in the file, with all that is to be answered. */
export function beginRun(db: Db, { runId, set, tasks, settings, worker }: NewRunRequest): Session {
  const datasetId = saveQuestions(
    db,
    set,
    tasks.map(({ question }) => question),
  );
  const lay = db.transaction(() => {
    startRun(db, {
      id: runId,
      agentId: settings.agentId,
      model: settings.model,
      datasetId,
      split: set.split,
      settings,
      corpusFingerprint: readFingerprint(db) ?? "",
      totalTasks: tasks.length,
      startedAt: new Date().toISOString(),
    });
    saveRunTasks(db, runId, tasks);
    takeRun(db, runId, worker);
  });
  // It reads before it writes: begun as a reader it would be refused, not kept waiting, where another run is writing.
  lay.immediate();
  return { tasks, finished: 0, done: [] };
}

/** Takes a run up where it was left: tasks without a result and, if wanted, the failed ones. */
export function resumeRun(
  db: Db,
  run: RunRow,
  { settings, retryFailed, worker }: { settings: RunSettings; retryFailed: boolean; worker: Worker },
): Session {
  takeRun(db, run.id, worker);
  reopenRun(db, run.id, settings);
  const tasks = remainingTasks(db, run.id, retryFailed);
  const again = new Set(tasks.map(({ question, epoch }) => `${question.id}/${epoch}`));
  const isDone = ({ taskId, epoch }: TaskResult) => !again.has(`${taskId}/${epoch}`);
  const done = {
    *[Symbol.iterator]() {
      for (const result of iterateResults(db, run.id)) if (isDone(result)) yield result;
    },
  };
  return { tasks, finished: run.totalTasks - tasks.length, done };
}
