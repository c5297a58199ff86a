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
import { recordedScorers } from "./choose-scorers.js";
import { judgeAndScore, type Scoring } from "./score-trace.js";

/** Traces per batch. Where the process is killed, at most one batch is scored again. */
const BATCH = 50;

export interface ScoredRun {
  readonly scored: number;
  /** The signal aborted before all were scored. */
  readonly stopped: boolean;
}

export interface ScoreRunRequest {
  readonly scoring: Scoring;
  /** Concurrent traces. */
  readonly concurrency: number;
  readonly worker: RunOwner;
  /** Called after every saved batch with the number of traces scored so far. */
  readonly onProgress: (scored: number) => void;
}

/**
 * Grades the stored traces of a run again, a batch at a time, without asking its agent anything. Stopped or killed,
 * what has been written stays, and doing it again ends in the same. Refuses a run that is being worked on.
 */
export async function scoreRun(db: Db, run: RunRow, request: ScoreRunRequest, signal: AbortSignal): Promise<ScoredRun> {
  const { worker, scoring } = request;
  acquireRunLock(db, run.id, worker);
  try {
    const rescored = await gradeAll(db, run.id, request, signal);
    // A run that was stopped half-way has scores of two settings: the new ones are recorded.
    const judge: JudgeSettings | null = scoring.judge?.settings ?? run.settings.judge;
    saveScoringSettings(db, run.id, { ...run.settings, scorers: recordedScorers(run.split, scoring.scorers), judge });
    return rescored;
  } finally {
    releaseRun(db, run.id, worker.name);
  }
}

async function gradeAll(
  db: Db,
  runId: string,
  { scoring, concurrency, onProgress }: ScoreRunRequest,
  signal: AbortSignal,
): Promise<ScoredRun> {
  const save = openScoreWriter(db);
  const limit = pLimit(concurrency);
  let scored = 0;
  let place: TaskCursor | null = null;
  while (!signal.aborted) {
    const batch = tracesAfter(db, runId, place, BATCH);
    place = batch.at(-1) ?? null;
    if (place === null) return { scored, stopped: false };
    const traces = await limit.map(batch, (trace) => judgeAndScore(trace, scoring, signal));
    // Traces that were in progress have no verdict now, and may have had one before: they are not saved.
    if (signal.aborted) break;
    save(traces.map((trace) => ({ trace, result: toTaskResult(trace) })));
    scored += traces.length;
    onProgress(scored);
  }
  return { scored, stopped: true };
}
