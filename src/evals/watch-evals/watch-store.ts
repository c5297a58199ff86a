import type { Proportion } from "../../statistics/agreement.js";
import type { DriftBaseline, WatchCounts } from "../../statistics/drift.js";
import type { Db } from "../../store/open-store.js";

/** A category of results of an eval. */
export type AnchorResult = "pass" | "fail" | "not_applicable";

/** What the watches of a validated eval are compared with. */
export interface WatchBaseline extends DriftBaseline {
  /** The stored result per trace. */
  readonly anchors: ReadonlyMap<string, AnchorResult>;
}

/** A stored baseline with its watches, oldest first. */
export interface WatchHistory extends WatchBaseline {
  readonly id: number;
  readonly watches: readonly (WatchCounts & { readonly runId: string })[];
}

/** Identifies the validation of an eval. */
interface Validated {
  readonly evalId: number;
  readonly testedAt: string;
}

/** Returns the baseline and the watches of a validation, or null before the first watch. */
export function findWatchHistory(db: Db, { evalId, testedAt }: Validated): WatchHistory | null {
  const row = db
    .prepare(
      `SELECT id, repeats, repeats_differing AS differing, reference, reference_passed AS passed
       FROM eval_baselines WHERE eval_id = ? AND tested_at = ?`,
    )
    .get(evalId, testedAt) as
    | { id: number; repeats: number | null; differing: number | null; reference: number; passed: number }
    | undefined;
  if (row === undefined) return null;
  const { id, repeats, differing, reference, passed } = row;
  const anchors = db
    .prepare("SELECT trace_id, result FROM eval_anchors WHERE baseline_id = ? ORDER BY trace_id")
    .raw()
    .all(id) as [string, AnchorResult][];
  const watches = db
    .prepare(
      `SELECT run_id AS runId, anchors, anchors_differing AS differing, fresh, fresh_passed AS passed
       FROM eval_watches WHERE baseline_id = ? ORDER BY id`,
    )
    .all(id) as { runId: string; anchors: number; differing: number; fresh: number; passed: number }[];
  return {
    id,
    noise: repeats === null ? null : proportion(differing ?? 0, repeats),
    reference: proportion(passed, reference),
    anchors: new Map(anchors),
    watches: watches.map((watch) => ({
      runId: watch.runId,
      anchors: proportion(watch.differing, watch.anchors),
      fresh: proportion(watch.passed, watch.fresh),
    })),
  };
}

function proportion(successes: number, n: number): Proportion {
  return { successes, n };
}

/** Saves a watch, and its baseline if it is the first. Returns all watches. */
export function saveWatch(
  db: Db,
  validated: Validated,
  first: WatchBaseline | null,
  { runId, anchors, fresh }: WatchCounts & { readonly runId: string },
  createdAt: string,
): WatchHistory {
  return db
    .transaction(() => {
      // Another process might have saved the baseline in the meantime. Its anchors are kept.
      if (first !== null && findWatchHistory(db, validated) === null) insertBaseline(db, validated, first, createdAt);
      const history = findWatchHistory(db, validated);
      if (history === null) throw new Error("a watch needs a baseline");
      db.prepare(
        `INSERT INTO eval_watches (baseline_id, run_id, anchors, anchors_differing, fresh, fresh_passed, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ).run(history.id, runId, anchors.n, anchors.successes, fresh.n, fresh.successes, createdAt);
      return { ...history, watches: [...history.watches, { runId, anchors, fresh }] };
    })
    .immediate();
}

function insertBaseline(
  db: Db,
  { evalId, testedAt }: Validated,
  { noise, reference, anchors }: WatchBaseline,
  createdAt: string,
): void {
  const { lastInsertRowid: id } = db
    .prepare(
      `INSERT INTO eval_baselines (eval_id, tested_at, repeats, repeats_differing, reference, reference_passed, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      ...[evalId, testedAt, noise?.n ?? null, noise?.successes ?? null],
      ...[reference.n, reference.successes, createdAt],
    );
  const insert = db.prepare("INSERT INTO eval_anchors (baseline_id, trace_id, result) VALUES (?, ?, ?)");
  for (const [traceId, result] of anchors) insert.run(id, traceId, result);
}
