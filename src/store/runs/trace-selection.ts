import type { Band } from "../../domain/scores/score-bands.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { Db } from "../connection/open-store.js";

/** Bounds of a score, inclusive. */
export interface ScoreBounds {
  readonly scorer: string;
  readonly min?: number;
  readonly max?: number;
}

/** Which traces of a run; what is left out or null does not restrict. */
export interface TraceFilter {
  readonly runId: string;
  /** The score of `band` and `bestOfEpochs`: the semantic score where left out. */
  readonly by?: string;
  readonly band?: Band | null;
  readonly bounds?: readonly ScoreBounds[];
  readonly failedOnly?: boolean;
  readonly taskIds?: readonly TaskId[] | null;
  /** Of each question's repeats only the one with the best score. It is chosen before all else is looked at. */
  readonly bestOfEpochs?: "highest" | "lowest" | null;
  readonly limit?: number | null;
}

const BAND_CONDITION: Readonly<Record<Band, string>> = {
  high: "score > 0.8",
  medium: "score BETWEEN 0.5 AND 0.8",
  low: "score < 0.5",
};

/** Ids of traces by task id and epoch: few bytes each, so that a caller can read one trace after another. */
export function selectTraceIds(db: Db, filter: TraceFilter): string[] {
  const { by = "semanticScore", bounds = [] } = filter;
  const conditions = ["1"];
  if (filter.band) conditions.push(BAND_CONDITION[filter.band]);
  if (filter.failedOnly) conditions.push("failed = 1");
  if (filter.taskIds) conditions.push("task_id IN (SELECT value FROM json_each(@taskIds))");
  if (filter.bestOfEpochs) conditions.push("place = 1");
  const values: Record<string, string | number> = {};
  for (const [i, { scorer, min = -Infinity, max = Infinity }] of bounds.entries()) {
    Object.assign(values, { [`scorer${i}`]: scorePath(scorer), [`min${i}`]: min, [`max${i}`]: max });
    conditions.push(`${scoreColumn(scorer, `@scorer${i}`)} BETWEEN @min${i} AND @max${i}`);
  }
  const score = scoreColumn(by, "@score");
  const order = filter.bestOfEpochs === "lowest" ? "ASC" : "DESC";
  return db
    .prepare(
      `WITH tries AS (
         SELECT task_id, epoch, trace_id, failed, semantic_score, result, ${score} AS score,
           row_number() OVER (PARTITION BY task_id ORDER BY ${score} ${order} NULLS LAST, epoch) AS place
         FROM results WHERE run_id = @runId AND superseded = 0)
       SELECT trace_id FROM tries WHERE ${conditions.join(" AND ")} ORDER BY task_id, epoch LIMIT @limit`,
    )
    .pluck()
    .all({
      runId: filter.runId,
      score: scorePath(by),
      taskIds: JSON.stringify(filter.taskIds ?? []),
      limit: filter.limit ?? -1,
      ...values,
    }) as string[];
}

/** The semantic score has a column of its own. */
function scoreColumn(scorer: string, path: string): string {
  return scorer === "semanticScore" ? "semantic_score" : `result ->> ${path}`;
}

function scorePath(scorer: string): string {
  return `$.scores.${JSON.stringify(scorer)}`;
}

/** How many tasks of a run have a value of which score. */
export function countScores(db: Db, runId: string): Record<string, { readonly n: number }> {
  const rows = db
    .prepare(
      `SELECT scores.key AS scorer, count(*) AS n FROM results, json_each(result, '$.scores') AS scores
       WHERE run_id = ? AND superseded = 0 AND scores.type <> 'null' GROUP BY scores.key`,
    )
    .all(runId) as { scorer: string; n: number }[];
  return Object.fromEntries(rows.map(({ scorer, n }) => [scorer, { n }]));
}

/** The tasks of a run that have a result. */
export function listTaskIds(db: Db, runId: string): TaskId[] {
  return db.prepare("SELECT DISTINCT task_id FROM results WHERE run_id = ?").pluck().all(runId) as TaskId[];
}

/** Which traces of chats; null does not restrict. */
export interface ChatFilter {
  readonly sessionId: string | null;
  readonly endings: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly limit: number | null;
}

/** Ids of the traces of chats, oldest first. */
export function selectChatTraceIds(db: Db, { sessionId, endings, ids, limit }: ChatFilter): string[] {
  return db
    .prepare(
      `SELECT id FROM traces WHERE run_id IS NULL AND (@sessionId IS NULL OR session_id = @sessionId)
         AND (@endings IS NULL OR ending IN (SELECT value FROM json_each(@endings)))
         AND (@ids IS NULL OR id IN (SELECT value FROM json_each(@ids)))
       ORDER BY started_at, id LIMIT @limit`,
    )
    .pluck()
    .all({
      sessionId,
      endings: endings && JSON.stringify(endings),
      ids: ids && JSON.stringify(ids),
      limit: limit ?? -1,
    }) as string[];
}
