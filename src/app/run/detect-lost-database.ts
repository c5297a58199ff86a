import type { FileWatch } from "../../store/connection/file-watch.js";
import type { Db } from "../../store/connection/open-store.js";
import { type LockWait, withWriteTransaction } from "../../store/connection/write-transaction.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { getRun } from "../../store/runs/runs.js";
import { saveScoringSettings } from "../../store/runs/score-writes.js";
import type { AppContext } from "../use-case-context.js";
import type { SessionEnd } from "./run-tasks.js";
import { saveLostTraces } from "./save-lost-traces.js";

const GROWN = "mail was imported while it ran";

interface RunDatabase {
  readonly db: Db;
  readonly path: string;
  readonly runId: string;
  readonly watch: FileWatch;
}

/**
 * Watches the database of a run while other programs may change it. A database that is deleted or replaced stops the
 * run. Mail imported meanwhile, which later tasks can find and earlier ones could not, is recorded with the run.
 */
export function detectLostDatabase({ db, path, runId, watch }: RunDatabase, waiting: LockWait, { note }: AppContext) {
  const before = readFingerprint(db);
  const lost = async (recent: readonly string[]): Promise<Error | null> => {
    const fault = watch.check();
    return fault === null ? null : saveLostTraces(fault, { db, path, runId, recent });
  };
  return {
    /** The error to report: that the database was lost, if that is the cause of `error`. */
    explain: async (error: unknown, recent: readonly string[]): Promise<unknown> => (await lost(recent)) ?? error,
    async ended(end: SessionEnd, recent: readonly string[]): Promise<SessionEnd> {
      const error = await lost(recent);
      if (error !== null) throw error;
      if (readFingerprint(db) === before) return end;
      note(`art-e: ${GROWN}: later tasks could find it, earlier ones could not.`);
      const { settings } = getRun(db, runId);
      const changes = [...(settings.changes ?? []), GROWN];
      await withWriteTransaction(db, waiting, () => saveScoringSettings(db, runId, { ...settings, changes }));
      return end;
    },
  };
}
