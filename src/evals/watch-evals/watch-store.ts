// The stored anchors and watches of an eval, because each watch is compared with all earlier ones.
import type { Proportion } from "../../statistics/agreement.js";
import type { AnchorRound, DriftBaseline, WatchCounts } from "../../statistics/drift.js";
import type { Db } from "../../store/open-store.js";

/** A category of results of an eval. */
export type AnchorResult = "pass" | "fail" | "not_applicable";

/** The baseline of a validated eval's watches. */
interface WatchBaseline extends DriftBaseline {
  /** The stored result per trace. Rounds have the same order. */
  readonly anchors: ReadonlyMap<string, AnchorResult>;
}

/** A stored baseline with its watches, oldest first. */
export interface WatchHistory extends WatchBaseline {
  readonly watches: readonly (WatchCounts & { readonly runId: string })[];
}

/** Identifies the validation of an eval. */
interface Validated {
  readonly evalId: number;
  readonly testedAt: string;
}

interface NewWatch {
  readonly runId: string;
  /** Whether the result of each judged anchor differs, by trace. */
  readonly anchors: ReadonlyMap<string, boolean>;
  readonly fresh: Proportion;
}

/** A baseline before it is stored. */
export interface NewBaseline {
  readonly anchors: WatchBaseline["anchors"];
  readonly repeats: readonly NewWatch["anchors"][];
  readonly reference: Proportion;
}

/** Returns the baseline and the watches of a validation, or null before the first watch. */
export function findWatchHistory(db: Db, validated: Validated): WatchHistory | null {
  const row = baselineRow(db, validated);
  if (row === null) return null;
  const { id, reference, passed } = row;
  const anchors = new Map(
    db.prepare("SELECT trace_id, result FROM eval_anchors WHERE baseline_id = ? ORDER BY trace_id").raw().all(id) as [
      string,
      AnchorResult,
    ][],
  );
  const judged = db
    .prepare("SELECT trace_id AS traceId, round, differs FROM eval_anchor_rounds WHERE baseline_id = ?")
    .all(id) as { traceId: string; round: number; differs: number }[];
  const differs = new Map(judged.map((one) => [`${one.round} ${one.traceId}`, one.differs === 1]));
  const roundOf = (round: number): AnchorRound =>
    [...anchors.keys()].map((id) => differs.get(`${round} ${id}`) ?? null);
  const repeats = [...new Set(judged.map(({ round }) => round))].filter((round) => round <= 0);
  const watches = db
    .prepare(
      `SELECT run_id AS runId, round, fresh, fresh_passed AS passed, rejudged, rejudged_passed AS rejudgedPassed
       FROM eval_watches WHERE baseline_id = ? ORDER BY round`,
    )
    .all(id) as {
    runId: string;
    round: number;
    fresh: number;
    passed: number;
    rejudged: number | null;
    rejudgedPassed: number | null;
  }[];
  return {
    repeats: repeats.length === 0 ? null : repeats.map(roundOf),
    reference: { successes: passed, n: reference },
    anchors,
    watches: watches.map((watch) => ({
      runId: watch.runId,
      anchors: roundOf(watch.round),
      fresh: { successes: watch.passed, n: watch.fresh },
      rejudged: watch.rejudged === null ? null : { successes: watch.rejudgedPassed ?? 0, n: watch.rejudged },
    })),
  };
}

function baselineRow(db: Db, { evalId, testedAt }: Validated) {
  const row = db
    .prepare(`SELECT id, reference, reference_passed AS passed FROM eval_baselines WHERE eval_id = ? AND tested_at = ?`)
    .get(evalId, testedAt) as { id: number; reference: number; passed: number } | undefined;
  return row ?? null;
}

/** Saves a watch, and its baseline if it is the first. Returns all watches. */
export function saveWatch(
  db: Db,
  validated: Validated,
  first: NewBaseline | null,
  { runId, anchors, fresh }: NewWatch,
  createdAt: string,
): WatchHistory {
  return db
    .transaction(() => {
      // Another process might have saved the baseline in the meantime. Its anchors are kept.
      if (first !== null && baselineRow(db, validated) === null) insertBaseline(db, validated, first, createdAt);
      const id = baselineRow(db, validated)?.id;
      if (id === undefined) throw new Error("a watch needs a baseline");
      const round = db
        .prepare("SELECT coalesce(max(round), 0) + 1 FROM eval_watches WHERE baseline_id = ?")
        .pluck()
        .get(id) as number;
      db.prepare(
        `INSERT INTO eval_watches (baseline_id, round, run_id, fresh, fresh_passed, created_at)
         VALUES (?, ?, ?, ?, ?, ?)`,
      ).run(id, round, runId, fresh.n, fresh.successes, createdAt);
      insertRound(db, id, round, anchors);
      return findWatchHistory(db, validated) as WatchHistory;
    })
    .immediate();
}

/** Adds the reference traces that were judged again to the newest watch. Returns all watches. */
export function saveRejudged(db: Db, validated: Validated, { n, successes }: Proportion): WatchHistory {
  const id = baselineRow(db, validated)?.id;
  db.prepare(
    `UPDATE eval_watches SET rejudged = ?, rejudged_passed = ?
     WHERE baseline_id = ? AND round = (SELECT max(round) FROM eval_watches WHERE baseline_id = ?)`,
  ).run(n, successes, id, id);
  return findWatchHistory(db, validated) as WatchHistory;
}

function insertBaseline(
  db: Db,
  { evalId, testedAt }: Validated,
  { anchors, repeats, reference }: NewBaseline,
  createdAt: string,
): void {
  const { lastInsertRowid: id } = db
    .prepare(
      "INSERT INTO eval_baselines (eval_id, tested_at, reference, reference_passed, created_at) VALUES (?, ?, ?, ?, ?)",
    )
    .run(evalId, testedAt, reference.n, reference.successes, createdAt);
  const insert = db.prepare("INSERT INTO eval_anchors (baseline_id, trace_id, result) VALUES (?, ?, ?)");
  for (const [traceId, result] of anchors) insert.run(id, traceId, result);
  for (const [i, repeat] of repeats.entries()) insertRound(db, Number(id), -i, repeat);
}

/** Saves the results of anchors that are still stored. */
function insertRound(db: Db, baselineId: number, round: number, anchors: NewWatch["anchors"]): void {
  const insert = db.prepare(
    `INSERT INTO eval_anchor_rounds (baseline_id, trace_id, round, differs)
     SELECT baseline_id, trace_id, ?, ? FROM eval_anchors WHERE baseline_id = ? AND trace_id = ?`,
  );
  for (const [traceId, differs] of anchors) insert.run(round, Number(differs), baselineId, traceId);
}
