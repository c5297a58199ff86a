import { UserError } from "../../domain/errors.js";
import { isScored, scorerOfMetric } from "../../domain/scores/metric-name.js";
import type { ScorerEntry } from "../../domain/scores/score.js";
import type { Band } from "../../domain/scores/score-bands.js";
import { ENDINGS, isFailure } from "../../domain/tasks/task-ending.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { SCORERS } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import type { RunRow } from "../../store/runs/runs.js";
import {
  type ChatFilter,
  countScores,
  listTaskIds,
  type ScoreBounds,
  type TraceFilter,
} from "../../store/runs/trace-selection.js";

/** Which traces a user wants, with scores by the names of metrics. */
export interface TraceSelection {
  /** The score of `band`, `bestOfEpochs` and bounds without a name; null: the run's main score. */
  readonly by: string | null;
  readonly band: Band | null;
  readonly bounds: readonly (Omit<ScoreBounds, "scorer"> & { readonly metric: string | null })[];
  readonly failedOnly: boolean;
  readonly ids: readonly string[] | null;
  readonly bestOfEpochs: boolean;
  readonly limit: number | null;
}

/** Resolves the names of metrics and of tasks. Throws a UserError for one that the run does not have. */
export function filterOf(db: Db, { id: runId }: RunRow, selection: TraceSelection): TraceFilter & { by: string } {
  const counts = countScores(db, runId);
  const by = selection.by === null ? mainScore(counts) : knownScorer(selection.by, counts, runId);
  return {
    runId,
    by,
    band: selection.band,
    bounds: selection.bounds.map(({ metric, ...bounds }) => ({
      ...bounds,
      scorer: metric === null ? by : knownScorer(metric, counts, runId),
    })),
    failedOnly: selection.failedOnly,
    taskIds: selection.ids === null ? null : taskIds(db, runId, selection.ids),
    bestOfEpochs: selection.bestOfEpochs ? bestOf(by) : null,
    limit: selection.limit,
  };
}

/** Which traces of chats; those have ids of their own, and no scores. */
export function chatFilter({ failedOnly, ids, limit }: TraceSelection, sessionId: string | null): ChatFilter {
  return { sessionId, endings: failedOnly ? ENDINGS.filter(isFailure) : null, ids, limit };
}

/** The scorer that a metric's name means in a run; null: its main score. One that no task has is a UserError. */
export function scorerOf(db: Db, { id }: RunRow, metric: string | null): string {
  const counts = countScores(db, id);
  return metric === null ? mainScore(counts) : knownScorer(metric, counts, id);
}

type Counts = ReturnType<typeof countScores>;

/** The semantic score; of a suite, which has none, its own. */
function mainScore(counts: Counts): string {
  return !isScored("semanticScore", counts) && isScored("taskScore", counts) ? "taskScore" : "semanticScore";
}

function knownScorer(metric: string, counts: Counts, runId: string): string {
  const scorer = scorerOfMetric(metric, counts);
  if (isScored(scorer, counts)) return scorer;
  const known = Object.keys(counts).join(", ");
  throw new UserError(
    "score_unknown",
    `No task of ${runId} has a score "${metric}".`,
    known === "" ? "None of its tasks has any score." : `Its scores are: ${known}.`,
  );
}

function bestOf(scorer: string): "highest" | "lowest" {
  const entries: Readonly<Record<string, ScorerEntry>> = SCORERS;
  return entries[scorer]?.better === "lower" ? "lowest" : "highest";
}

/** Numbers are questions of ART-E; the tasks of suites have texts. */
function taskIds(db: Db, runId: string, written: readonly string[]): TaskId[] {
  const known = new Map(listTaskIds(db, runId).map((id) => [String(id), id]));
  return written.map((name) => {
    const id = known.get(name);
    if (id !== undefined) return id;
    throw new UserError("task_unknown", `${runId} has no result of a task ${name}.`, "art-e stats --run shows a run.");
  });
}
