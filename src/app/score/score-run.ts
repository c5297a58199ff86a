import pLimit from "p-limit";
import type { JudgeSettings } from "../../domain/scores/judgement.js";
import type { Db } from "../../store/connection/open-store.js";
import type { RunRow } from "../../store/runs/runs.js";
import {
  openScoreWriter,
  releaseRun,
  saveScoringSettings,
  type TaskCursor,
  tracesAfter,
} from "../../store/runs/score-writes.js";
import { acquireRunLock, type RunOwner } from "../run/run-lock.js";
import { toTaskResult } from "../run/to-task-result.js";
import { judgeAndScore, type Scoring } from "./score-trace.js";

/** Traces graded between two writes: as many are graded again, and none is lost, where it is killed in between. */
const BATCH = 50;

export interface ScoredRun {
  readonly graded: number;
  /** The signal ended it before all were graded. */
  readonly stopped: boolean;
}

export interface ScoreRunRequest {
  readonly grading: Scoring;
  /** Traces under way at once. */
  readonly concurrency: number;
  readonly worker: RunOwner;
  /** Hears of every batch that is saved: how many traces are graded by now. */
  readonly onProgress: (graded: number) => void;
}

/**
 * Grades the stored traces of a run again, a batch at a time, without asking its agent anything. Stopped or killed, what has been written stays, and
 * doing it again ends in the same. Refuses a run that is being worked on.
 */
export async function scoreRun(db: Db, run: RunRow, request: ScoreRunRequest, signal: AbortSignal): Promise<ScoredRun> {
  const { worker, grading } = request;
  acquireRunLock(db, run.id, worker);
  try {
    const rescored = await gradeAll(db, run.id, request, signal);
    // Stopped half-way it has been graded by two measures; what is recorded is the one that was to hold.
    const judge: JudgeSettings | null = grading.judge?.settings ?? run.settings.judge;
    saveScoringSettings(db, run.id, { ...run.settings, scorers: grading.scorers, judge });
    return rescored;
  } finally {
    releaseRun(db, run.id, worker.name);
  }
}

async function gradeAll(
  db: Db,
  runId: string,
  { grading, concurrency, onProgress }: ScoreRunRequest,
  signal: AbortSignal,
): Promise<ScoredRun> {
  const save = openScoreWriter(db);
  const limit = pLimit(concurrency);
  let graded = 0;
  let place: TaskCursor | null = null;
  while (!signal.aborted) {
    const batch = tracesAfter(db, runId, place, BATCH);
    place = batch.at(-1) ?? null;
    if (place === null) return { graded, stopped: false };
    const traces = await limit.map(batch, (trace) => judgeAndScore(trace, grading, signal));
    // What was under way when it was stopped has no verdict and may have had one.
    if (signal.aborted) break;
    save(traces.map((trace) => ({ trace, result: toTaskResult(trace) })));
    graded += traces.length;
    onProgress(graded);
  }
  return { graded, stopped: true };
}
