import { UserError } from "../../domain/errors.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Band } from "../../domain/scores/score.js";
import type { Db } from "../connection/open-store.js";
import { getRun } from "./runs.js";

export interface TraceFilter {
  readonly runId: string;
  readonly band: Band | null;
  /** Bounds of the semantic score, inclusive. */
  readonly minScore: number | null;
  readonly maxScore: number | null;
  readonly failedOnly: boolean;
}

const BAND_CONDITION: Readonly<Record<Band, string>> = {
  high: "r.semantic_score > 0.8",
  medium: "r.semantic_score BETWEEN 0.5 AND 0.8",
  low: "r.semantic_score < 0.5",
};

/** A run's traces in the order of the task ids, one at a time. */
export function* iterateTraces(db: Db, filter: TraceFilter): Generator<Trace> {
  const conditions = ["r.run_id = @runId", "r.superseded = 0"];
  if (filter.band !== null) conditions.push(BAND_CONDITION[filter.band]);
  if (filter.minScore !== null) conditions.push("r.semantic_score >= @minScore");
  if (filter.maxScore !== null) conditions.push("r.semantic_score <= @maxScore");
  if (filter.failedOnly) conditions.push("r.failed = 1");
  const rows = db
    .prepare(
      `SELECT t.trace FROM results r JOIN traces t ON t.id = r.trace_id
       WHERE ${conditions.join(" AND ")} ORDER BY r.task_id, r.epoch`,
    )
    .pluck();
  const { runId, minScore, maxScore } = filter;
  for (const row of rows.iterate({ runId, minScore, maxScore }) as Iterable<string>) yield JSON.parse(row) as Trace;
}

/** Finds a trace by its id, by the beginning of it, or by `RUN/TASK` or `RUN/TASK/EPOCH`, where RUN may be `latest`. */
export function getTrace(db: Db, name: string): Trace | ChatTrace {
  const [, run, task, epoch = "1"] = /^([^/]+)\/(\d+)(?:\/(\d+))?$/.exec(name) ?? [];
  const rows = (
    run === undefined
      ? db
          .prepare(
            `SELECT trace FROM traces WHERE id = @name OR substr(id, 1, length(@name)) = @name
             ORDER BY id = @name DESC LIMIT 2`,
          )
          .pluck()
          .all({ name })
      : db
          .prepare(
            `SELECT t.trace FROM results r JOIN traces t ON t.id = r.trace_id
             WHERE r.run_id = ? AND r.task_id = ? AND r.epoch = ? AND r.superseded = 0`,
          )
          .pluck()
          .all(getRun(db, run).id, Number(task), Number(epoch))
  ) as string[];
  const [row] = rows;
  const trace = row === undefined ? undefined : (JSON.parse(row) as Trace | ChatTrace);
  // A whole id is meant as such, even where another one begins with it.
  if (trace !== undefined && (rows.length === 1 || trace.traceId === name)) return trace;
  throw new UserError(
    "trace_unknown",
    row === undefined ? `There is no trace "${name}" in ${db.name}.` : `More than one trace begins with "${name}".`,
    "Name a traceId of a results file, or RUN/TASK, for example latest/12.",
  );
}
