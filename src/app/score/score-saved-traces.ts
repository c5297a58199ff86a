import pLimit from "p-limit";
import type { Trace } from "../../domain/runs/trace.js";
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
import { type Scoring, withScores, withVerdict } from "./score-trace.js";

/** Traces per batch where a judge is asked. Where the process is killed, at most one batch is scored again. */
const BATCH = 50;

export interface ScoredRun {
  readonly scored: number;
  /** The signal aborted before all were scored. */
  readonly stopped: boolean;
}

export interface ScoreRunRequest {
  readonly scoring: Scoring;
  /** Names of the scorers, as the run records them. */
  readonly scorers: readonly string[];
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
  const { worker, scoring, scorers, onProgress } = request;
  const limit = pLimit(request.concurrency);
  acquireRunLock(db, run.id, worker);
  try {
    const score = async (traces: readonly Trace[]) =>
      withScores(await limit.map(traces, (trace) => withVerdict(trace, scoring, signal)), scoring, signal);
    const rescored = await rewriteScores(db, run.id, { batch: BATCH, onProgress }, score, signal);
    // A run that was stopped half-way has scores of two settings: the new ones are recorded.
    const judge: JudgeSettings | null = scoring.judge?.settings ?? run.settings.judge;
    saveScoringSettings(db, run.id, { ...run.settings, scorers: [...scorers], judge });
    return rescored;
  } finally {
    releaseRun(db, run.id, worker.name);
  }
}

/** Scores the traces of a run and saves them a batch at a time. The caller holds the run's lock. */
export async function rewriteScores(
  db: Db,
  runId: string,
  { batch: size, onProgress }: { readonly batch: number } & Pick<ScoreRunRequest, "onProgress">,
  score: (traces: readonly Trace[]) => Promise<readonly Trace[]>,
  signal: AbortSignal,
): Promise<ScoredRun> {
  const save = openScoreWriter(db);
  let scored = 0;
  let place: TaskCursor | null = null;
  while (!signal.aborted) {
    const batch = tracesAfter(db, runId, place, size);
    place = batch.at(-1) ?? null;
    if (place === null) return { scored, stopped: false };
    const traces = await score(batch).catch((error: unknown) => {
      if (signal.aborted) return [];
      throw error;
    });
    // Traces that were in progress have no verdict now, and may have had one before: they are not saved.
    if (signal.aborted) break;
    save(traces.map((trace) => ({ trace, result: toTaskResult(trace) })));
    scored += traces.length;
    onProgress(scored);
  }
  return { scored, stopped: true };
}
