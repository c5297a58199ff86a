// Figures of a run that SQLite computes from its results: cost, tokens, errors and sums of scores.
import { addCost } from "../models/usage.js";
import { jsonSql, reportDamaged } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import type { ScorableQuestion } from "./score.js";
import type { TaskResult } from "./task-result.js";

const RESULT = jsonSql("result");

const ENTRY = jsonSql("entry");

/** US dollars. Null if a price is unknown. */
export interface RunCost {
  /** The agent's cost. */
  readonly costUsd: number | null;
  readonly judgeCostUsd: number | null;
  /** The sum of both. */
  readonly totalCostUsd: number | null;
}

/**
 * Returns the cost of a run, including all attempts and unfinished tasks. Reads every result. A damaged result is
 * reported, and makes the cost unknown.
 */
export function costOfRun(db: Db, runId: string): RunCost {
  const sum = (field: string) =>
    `CASE WHEN count(*) = count(${RESULT} ->> '$.${field}') THEN coalesce(sum(${RESULT} ->> '$.${field}'), 0) END`;
  const { agent, judge, damaged } = db
    .prepare(
      `SELECT json_group_array(task_id || '/' || epoch) FILTER (WHERE NOT json_valid(result)) AS damaged, ${sum("costUsd")} AS agent, ${sum("judgeCostUsd")} AS judge
       FROM results WHERE run_id = ?`,
    )
    .get(runId) as { agent: number | null; judge: number | null; damaged: string };
  for (const row of JSON.parse(damaged) as string[]) {
    reportDamaged({ table: "results", row: `${runId}/${row}`, column: "result" }, "it is not JSON");
  }
  return withUnfinished(db, runId, { costUsd: agent, judgeCostUsd: judge });
}

/** Adds the replies of unfinished tasks to the cost of a run's results. */
export function withUnfinished(db: Db, runId: string, saved: Omit<RunCost, "totalCostUsd">): RunCost {
  const unfinished = db
    .prepare(
      `SELECT sum(coalesce(${ENTRY} ->> '$.reply.costUsd', 0)) FROM reply_journal
       WHERE run_id = ? AND ${ENTRY} ->> '$.caller' = ?`,
    )
    .pluck();
  const added = (cost: number | null, caller: "agent" | "judge") =>
    addCost(cost, (unfinished.get(runId, caller) as number | null) ?? 0);
  const [costUsd, judgeCostUsd] = [added(saved.costUsd, "agent"), added(saved.judgeCostUsd, "judge")];
  return { costUsd, judgeCostUsd, totalCostUsd: addCost(costUsd, judgeCostUsd) };
}

/** A failed task, with the facts that decide whether it counts as wrong. */
export interface FailedTask extends Pick<TaskResult, "taskId" | "ending" | "suite">, ScorableQuestion {}

export function failedTasks(db: Db, runId: string): FailedTask[] {
  const rows = db
    .prepare(
      `SELECT task_id AS taskId, ${RESULT} ->> '$.ending' AS ending, ${RESULT} -> '$.suite' AS suite,
              ${RESULT} ->> '$.groundTruth' AS goldAnswer, ${RESULT} ->> '$.goldSources' AS goldMails,
              CASE WHEN ${RESULT} ->> '$.asksForActions' THEN 'actions' WHEN ${RESULT} ->> '$.selects' IS NOT NULL THEN 'emails' ELSE 'answer' END AS asksFor,
              CASE WHEN ${RESULT} ->> '$.attack.shown' THEN iif(${RESULT} ->> '$.attack.control', 'control', 'attack') END AS exposure
       FROM results WHERE run_id = ? AND superseded = 0 AND failed = 1 AND json_valid(result)`,
    )
    .all(runId) as (Omit<FailedTask, "suite"> & { readonly suite: string | null })[];
  return rows.map(({ suite, ...row }) => ({
    ...row,
    ...(suite === null ? {} : { suite: JSON.parse(suite) }),
  }));
}

/** Further figures of a run in a list. */
interface RunEffort {
  readonly tokens: number;
  /** Milliseconds in which a process executed the run, or null if none has ended yet. */
  readonly activeMs: number | null;
}

/** Reads every result of the run. */
export function effortOfRun(db: Db, runId: string): RunEffort {
  return db
    .prepare(
      `SELECT (SELECT coalesce(sum(coalesce(${RESULT} ->> '$.usage.inputTokens', 0) + coalesce(${RESULT} ->> '$.usage.outputTokens', 0)), 0)
               FROM results WHERE run_id = r.id AND superseded = 0) AS tokens,
              nullif(r.active_ms, 0) AS activeMs
       FROM runs r WHERE r.id = ?`,
    )
    .get(runId) as RunEffort;
}

/** Returns the most frequent error of a run's failed tasks, or null if none failed. Skips damaged results. */
export function mostFrequentError(db: Db, runId: string): string | null {
  const message = db
    .prepare(
      `SELECT ${RESULT} ->> '$.error' AS message FROM results
       WHERE run_id = ? AND superseded = 0 AND failed = 1 AND message IS NOT NULL
       GROUP BY message ORDER BY count(*) DESC, message LIMIT 1`,
    )
    .pluck()
    .get(runId) as string | undefined;
  return message ?? null;
}

/** Number and sum of the values that count in a run's score, for one task. */
export interface TaskScoreSums<S extends string> {
  readonly scorer: S;
  readonly taskId: TaskId;
  readonly n: number;
  readonly sum: number;
}

/** Returns the sums of scorers over a run, task by task. A failed task counts only if a suite graded it. */
export function scoreSums<S extends string>(db: Db, runId: string, scorers: readonly S[]): TaskScoreSums<S>[] {
  return db
    .prepare(
      `SELECT scores.key AS scorer, task_id AS taskId, count(*) AS n, sum(scores.value) AS sum
       FROM results, json_each(${RESULT}, '$.scores') AS scores
       WHERE run_id = @runId AND superseded = 0 AND (failed = 0 OR ${RESULT} -> 'suite' IS NOT NULL)
         AND scores.type <> 'null' AND scores.key IN (SELECT value FROM json_each(@scorers))
       GROUP BY scores.key, task_id`,
    )
    .all({ runId, scorers: JSON.stringify(scorers) }) as TaskScoreSums<S>[];
}
