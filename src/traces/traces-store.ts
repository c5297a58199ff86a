// Reads traces from the database: one by name, filtered pages, or one at a time.
import { UserError } from "../platform/errors.js";
import { jsonSql, parseColumn, skipDamaged } from "../store/damaged-row.js";
import { type ListTerm, listCondition, listOrder } from "../store/list-query.js";
import type { Db } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import type { Feedback } from "./feedback-store.js";
import { HEADLINE_SCORERS, type HeadlineScorer } from "./headline-score.js";
import { TRACE_FIELDS } from "./list-fields.js";
import { getRun } from "./runs-store.js";
import type { Band } from "./score-bands.js";
import type { ChatTrace, Trace } from "./trace.js";

export interface TraceQuery {
  readonly terms: readonly ListTerm[];
  /** Name of a field of `TRACE_FIELDS`, after `-` if descending, or empty for newest first. */
  readonly sort: string;
  readonly limit: number;
  /** The last trace of the previous page, or the number of traces on all previous pages if they are sorted. */
  readonly after: { readonly startedAt: string; readonly id: string } | number | null;
}

export interface TraceSummary {
  readonly id: string;
  readonly runId: string | null;
  /** Name that a person gave the run, or null. */
  readonly runName: string | null;
  readonly taskId: TaskId | null;
  readonly agentId: string;
  readonly sessionId: string;
  readonly startedAt: string;
  readonly ending: string;
  readonly model: string;
  readonly question: string;
  readonly answer: string | null;
  readonly durationMs: number;
  readonly rating: Feedback["rating"] | null;
  /** The first of the headline scores that the trace has, or null if it has none. */
  readonly score: { readonly scorer: HeadlineScorer; readonly value: number } | null;
}

/** Bounds of a score, inclusive. */
export interface ScoreBounds {
  readonly scorer: string;
  readonly min?: number;
  readonly max?: number;
}

/** Filter for the traces of a run. Absent and null fields do not restrict it. */
export interface TraceFilter {
  readonly runId: string;
  /** Score for `band` and `bestOfEpochs`, by default the word overlap. */
  readonly by?: string;
  readonly band?: Band | null;
  readonly bounds?: readonly ScoreBounds[];
  readonly failedOnly?: boolean;
  readonly taskIds?: readonly TaskId[] | null;
  /** Keeps only the epoch with the best score for each question. Applies before all other conditions. */
  readonly bestOfEpochs?: "highest" | "lowest" | null;
  readonly limit?: number | null;
}

interface ChatFilter {
  readonly sessionId: string | null;
  readonly endings: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly limit: number | null;
}

/** Fields that every reader of a trace needs. */
const TRACE_SHAPE = {
  traceId: "string",
  agentId: "string",
  model: "string",
  startedAt: "string",
  ending: "string",
  messages: "array",
  toolCalls: "array",
  turns: "array",
  scores: "object",
  kind: "string",
} as const;

/** @throws DamagedRowError */
export function parseTrace<T = Trace>(id: string, json: unknown): T {
  return parseColumn<T>(json, TRACE_SHAPE, { table: "traces", row: id, column: "trace" });
}

/** Returns a function that reads a trace by id. It returns undefined for a damaged trace or an unknown id. */
export function traceReader<T extends Trace | ChatTrace = Trace>(db: Db): (id: string) => T | undefined {
  const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
  return (id) => {
    const row = select.get(id);
    return row === undefined ? undefined : skipDamaged(() => parseTrace<T>(id, row));
  };
}

/** Reads traces one at a time, in the order of `ids`. Skips damaged ones. The result can be iterated more than once. */
export function readTraces<T extends Trace | ChatTrace = Trace>(db: Db, ids: readonly string[]): Iterable<T> {
  const read = traceReader<T>(db);
  return {
    *[Symbol.iterator]() {
      for (const id of ids) {
        const trace = read(id);
        // A trace can be deleted in the meantime.
        if (trace !== undefined) yield trace;
      }
    },
  };
}

export function* iterateTraces(db: Db, filter: TraceFilter): Generator<Trace> {
  yield* readTraces(db, selectTraceIds(db, filter));
}

export function hasTrace(db: Db, traceId: string): boolean {
  return db.prepare("SELECT 1 FROM traces WHERE id = ?").get(traceId) !== undefined;
}

/** Finds a trace by its id, a prefix of its id, `RUN/TASK` or `RUN/TASK/EPOCH`. RUN can be `latest`. */
export function getTrace(db: Db, name: string): Trace | ChatTrace {
  const [, run, task, epoch = "1"] = /^([^/]+)\/([^/]+)(?:\/(\d+))?$/.exec(name) ?? [];
  const rows = (
    run === undefined
      ? db
          .prepare(
            `SELECT id, trace FROM traces WHERE id = @name OR substr(id, 1, length(@name)) = @name
             ORDER BY id = @name DESC LIMIT 2`,
          )
          .all({ name })
      : db
          .prepare(
            `SELECT t.id, t.trace FROM results r JOIN traces t ON t.id = r.trace_id
             WHERE r.run_id = ? AND r.epoch = ? AND r.superseded = 0
               AND (r.task_id = ? OR typeof(r.task_id) = 'text' AND substr(r.task_id, 1, length(?)) = ?) LIMIT 2`,
          )
          .all(getRun(db, run).id, Number(epoch), taskIdOf(task ?? ""), task, task)
  ) as { id: string; trace: unknown }[];
  const [row] = rows;
  // A complete id takes precedence over a longer id that starts with it.
  if (row !== undefined && (rows.length === 1 || row.id === name)) return parseTrace(row.id, row.trace);
  throw new UserError(
    "trace_unknown",
    row === undefined ? `Unknown trace "${name}" in ${db.name}.` : `More than one trace starts with "${name}".`,
    "Pass a traceId from a results file, or RUN/TASK, for example latest/12.",
  );
}

/** Question ids are numbers. Other task ids are strings, and a prefix of one is enough. */
export function taskIdOf(text: string): TaskId {
  return /^\d+$/.test(text) ? Number(text) : text;
}

const TRACE = jsonSql("t.trace");

const TEXT = "concat(t.id, ' ', t.agent_id, ' ', t.model, ' ', t.question, ' ', t.answer)";

/** Returns a page of the traces of runs and chats. `total` counts the traces on all pages. */
export function pageOfTraces(
  db: Db,
  { terms, sort, limit, after }: TraceQuery,
): { readonly lines: TraceSummary[]; readonly hasMore: boolean; readonly total: number } {
  const { sql, values } = listCondition(terms, TRACE_FIELDS, TEXT);
  const order = listOrder(sort, TRACE_FIELDS);
  const isKeyset = typeof after === "object" && after !== null;
  // One scan finds the page and counts the rest, because searching all texts takes most of the time. SQLite does not
  // choose this index for sorting by columns that are computed from the trace.
  const found = `SELECT t.id, t.started_at, count(*) OVER () AS total,
      row_number() OVER (ORDER BY ${order === null ? "" : `${order}, `} t.started_at DESC, t.id DESC) AS place
    FROM traces t INDEXED BY idx_traces_lists WHERE ${sql}`;
  const rows = db
    .prepare(
      `WITH found AS (${found})
       SELECT page.total, t.id, t.run_id AS runId, (SELECT name FROM runs WHERE id = t.run_id) AS runName,
              t.task_id AS taskId, t.agent_id AS agentId, t.session_id AS sessionId, t.started_at AS startedAt, t.ending, coalesce(t.model, '') AS model, coalesce(t.question, '') AS question,
              t.answer, coalesce(t.duration_ms, 0) AS durationMs, ${TRACE_FIELDS.rating.sql} AS rating,
              coalesce(${TRACE} -> '$.scores', '{}') AS scores
       FROM (SELECT * FROM found ${isKeyset ? "WHERE (started_at, id) < (@afterStart, @afterId)" : ""}
             ORDER BY place LIMIT @limit OFFSET @offset) page
       JOIN traces t ON t.id = page.id ORDER BY page.place`,
    )
    .all({
      ...values,
      ...(isKeyset ? { afterStart: after.startedAt, afterId: after.id } : {}),
      limit: limit + 1,
      offset: typeof after === "number" ? after : 0,
    }) as (Omit<TraceSummary, "score"> & { readonly scores: string; readonly total: number })[];
  const lines = rows
    .slice(0, limit)
    .map(({ scores, total: _, ...row }) => ({ ...row, score: headlineScoreOf(scores) }));
  // A page after the last one has no row with the total.
  const total = rows[0]?.total ?? (after === null ? 0 : pageOfTraces(db, { terms, sort, limit: 1, after: null }).total);
  return { lines, hasMore: rows.length > limit, total };
}

/** `scores` is the JSON of a trace's scores. */
function headlineScoreOf(scores: string): TraceSummary["score"] {
  const values = JSON.parse(scores) as Readonly<Record<string, { readonly value?: number | null }>>;
  for (const scorer of HEADLINE_SCORERS) {
    const value = values[scorer]?.value ?? null;
    if (value !== null) return { scorer, value };
  }
  return null;
}

const BAND_CONDITION: Readonly<Record<Band, string>> = {
  high: "score > 0.8",
  medium: "score BETWEEN 0.5 AND 0.8",
  low: "score < 0.5",
};

/** Returns trace ids by task id and epoch. They take little memory, so that a caller can read one trace at a time. */
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

/** `semanticScore` has a separate column. */
function scoreColumn(scorer: string, path: string): string {
  return scorer === "semanticScore" ? "semantic_score" : `${jsonSql("result")} ->> ${path}`;
}

function scorePath(scorer: string): string {
  return `$.scores.${JSON.stringify(scorer)}`;
}

export function countScores(db: Db, runId: string): Record<string, { readonly n: number }> {
  const rows = db
    .prepare(
      `SELECT scores.key AS scorer, count(*) AS n FROM results, json_each(${jsonSql("result")}, '$.scores') AS scores
       WHERE run_id = ? AND superseded = 0 AND scores.type <> 'null' GROUP BY scores.key`,
    )
    .all(runId) as { scorer: string; n: number }[];
  return Object.fromEntries(rows.map(({ scorer, n }) => [scorer, { n }]));
}

export function listTaskIds(db: Db, runId: string): TaskId[] {
  return db.prepare("SELECT DISTINCT task_id FROM results WHERE run_id = ?").pluck().all(runId) as TaskId[];
}

/** Returns the ids of chat traces, oldest first. */
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
