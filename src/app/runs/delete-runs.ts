import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { withWriteTransaction } from "../../store/connection/write-transaction.js";
import { deleteRun } from "../../store/runs/delete-run.js";
import { type ListedRun, listRuns, type RunFilter } from "../../store/runs/list-runs.js";
import { getRun } from "../../store/runs/runs.js";
import { thisProcess } from "../run/lock-owner.js";
import { acquireRunLock } from "../run/run-lock.js";
import type { AppContext } from "../use-case-context.js";
import { waitForWriter } from "../wait-for-writer.js";
import { withStore } from "../with-store.js";

/** What is or would be deleted. */
export interface DeletedRuns {
  readonly runs: readonly ListedRun[];
  readonly deleted: boolean;
}

/** Deletes runs by id, beginning or name, with their results and traces. All or none. */
export function deleteRuns(names: readonly string[], really: boolean, context: AppContext): Promise<DeletedRuns> {
  return withStore(context.settings, async (db) => {
    if (names.includes("latest")) {
      throw new UserError("run_unknown", "RUNS: latest is not deleted.", "Name the run: art-e runs list");
    }
    const ids = new Set(names.map((name) => getRun(db, name).id));
    return deleteAll(
      db,
      listRuns(db).filter(({ id }) => ids.has(id)),
      really,
      context,
    );
  });
}

/** Which runs to tidy away: those that match, but for the newest `keep` of them. */
export interface Pruning extends RunFilter {
  readonly keep: number;
  /** Only runs without a completed task. */
  readonly empty: boolean;
}

/** Deletes runs that match, none that has a name, a note or a tag: somebody wants to find these again. */
export function pruneRuns(pruning: Pruning, really: boolean, context: AppContext): Promise<DeletedRuns> {
  const { keep, empty, ...filter } = pruning;
  return withStore(context.settings, (db) => {
    const runs = listRuns(db, filter)
      .filter((run) => run.status !== "running" && (!empty || run.completedTasks === 0))
      .slice(keep)
      .filter((run) => run.name === null && run.note === null && run.tags.length === 0);
    return deleteAll(db, runs, really, context);
  });
}

async function deleteAll(
  db: Db,
  runs: readonly ListedRun[],
  really: boolean,
  context: AppContext,
): Promise<DeletedRuns> {
  if (!really || runs.length === 0) return { runs, deleted: false };
  await withWriteTransaction(db, waitForWriter(context, context.signal), () => {
    for (const { id } of runs) {
      // A run that goes on is not deleted under its process.
      acquireRunLock(db, id, thisProcess);
      deleteRun(db, id);
    }
  });
  return { runs, deleted: true };
}
