import { inPieces } from "../domain/in-pieces.js";
import type { PlannedTask, QuestionSet } from "../domain/question.js";
import type { RunSettings, TaskResult } from "../domain/result.js";
import { readFingerprint } from "../store/corpus-stats.js";
import type { Db } from "../store/open.js";
import { saveQuestions } from "../store/questions.js";
import { positionsLeft, saveRunTasks, tasksAt } from "../store/run-tasks.js";
import { attemptPages, type RunRow, reopenRun, startRun } from "../store/runs.js";
import { inTurns } from "./turns.js";
import { takeRun, type Worker } from "./worker.js";

/** What a session of a run has to do, and what earlier ones have done. Both are read from the file one by one. */
export interface Session {
  /** In the run's order. */
  readonly tasks: Iterable<PlannedTask>;
  /** How many these are. */
  readonly left: number;
  /** How many tasks earlier sessions have finished. */
  readonly finished: number;
  /** Their results. */
  readonly done: AsyncIterable<TaskResult>;
}

export interface NewRunRequest {
  readonly runId: string;
  /** Where the questions are from. */
  readonly set: Omit<QuestionSet, "questions">;
  readonly tasks: readonly PlannedTask[];
  readonly settings: RunSettings;
  readonly worker: Worker;
}

/** Tasks laid down before the loop is given back: a few milliseconds. */
const AT_ONCE = 100;

/** Questions of one transaction. Each writes the index's pages anew: of few questions they would be most of the log. */
const A_TRANSACTION = 2_000;

/**
 * Lays a new run down in the file, with all that is to be answered, and gives the loop back now and then. The run is there
 * as a whole or not at all; questions without a run are of no consequence. Nobody else may use the connection meanwhile.
 */
export async function beginRun(db: Db, { runId, set, tasks, settings, worker }: NewRunRequest): Promise<Session> {
  const datasetId = saveQuestions(db, set, []);
  for (const many of inPieces(tasks, A_TRANSACTION)) {
    await inTransaction(db, async () => {
      for await (const some of inTurns(inPieces(many, AT_ONCE))) {
        const questions = some.map(({ question }) => question);
        saveQuestions(db, set, questions);
      }
    });
  }
  await inTransaction(db, async () => {
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
    let before = 0;
    for await (const some of inTurns(inPieces(tasks, AT_ONCE))) {
      saveRunTasks(db, runId, some, before);
      before += some.length;
    }
    takeRun(db, runId, worker);
  });
  const positions = Array.from(tasks, (_, i) => i + 1);
  return { tasks: tasksAt(db, runId, positions), left: positions.length, finished: 0, done: noResults() };
}

/** A run is read before it is written: begun as a reader's it would be refused, not kept waiting, where another writes. */
async function inTransaction(db: Db, work: () => Promise<void>): Promise<void> {
  db.exec("BEGIN IMMEDIATE");
  try {
    await work();
    db.exec("COMMIT");
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

async function* noResults(): AsyncGenerator<TaskResult> {}

/** Takes a run up where it was left: tasks without a result and, if wanted, the failed ones. */
export async function resumeRun(
  db: Db,
  run: RunRow,
  { settings, retryFailed, worker }: { settings: RunSettings; retryFailed: boolean; worker: Worker },
): Promise<Session> {
  takeRun(db, run.id, worker);
  reopenRun(db, run.id, settings);
  const positions = await findLeft(db, run.id, retryFailed);
  return {
    tasks: tasksAt(db, run.id, positions),
    left: positions.length,
    finished: run.totalTasks - positions.length,
    done: finishedBefore(db, run.id, retryFailed),
  };
}

/** Where in a run's order the tasks stand that are left of it. */
export async function findLeft(db: Db, runId: string, retryFailed: boolean): Promise<number[]> {
  const positions: number[] = [];
  for await (const some of inTurns(positionsLeft(db, runId, retryFailed))) positions.push(...some);
  return positions;
}

async function* finishedBefore(db: Db, runId: string, retryFailed: boolean): AsyncGenerator<TaskResult> {
  for await (const page of inTurns(attemptPages(db, runId))) {
    for (const { result, isFailed, isSuperseded } of page) {
      if (!isSuperseded && !(isFailed && retryFailed)) yield result;
    }
  }
}
