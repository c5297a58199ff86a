import type { CommandContext } from "../../commands/cli/command.js";
import type { FileWatch } from "../../store/connection/file-watch.js";
import type { Db } from "../../store/connection/open-store.js";
import { type LockWait, withWriteTransaction } from "../../store/connection/write-transaction.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { getRun } from "../../store/runs/runs.js";
import { saveScoringSettings } from "../../store/runs/score-writes.js";
import type { SessionEnd } from "./run-tasks.js";
import { fileLost } from "./save-lost-traces.js";

const GROWN = "mail was imported while it ran";

interface RunFile {
  readonly db: Db;
  readonly path: string;
  readonly runId: string;
  readonly watch: FileWatch;
}

/**
 * Looks after the file of a run while others may do with it what they like: one that is lost stops the run, and mail that is
 * imported meanwhile, which later tasks find and earlier ones could not, is recorded.
 */
export function guardRunFile({ db, path, runId, watch }: RunFile, waiting: LockWait, { out }: CommandContext) {
  const before = readFingerprint(db);
  const lost = async (recent: readonly string[]): Promise<Error | null> => {
    const fault = watch.check();
    return fault === null ? null : fileLost(fault, { db, path, runId, recent });
  };
  return {
    /** What to tell of a fault: that the file is lost, if that is what is behind it. */
    explain: async (error: unknown, recent: readonly string[]): Promise<unknown> => (await lost(recent)) ?? error,
    async ended(end: SessionEnd, recent: readonly string[]): Promise<SessionEnd> {
      const error = await lost(recent);
      if (error !== null) throw error;
      if (readFingerprint(db) === before) return end;
      out.note(`art-e: ${GROWN}: later tasks could find it, earlier ones could not.`);
      const { settings } = getRun(db, runId);
      const changes = [...(settings.changes ?? []), GROWN];
      await withWriteTransaction(db, waiting, () => saveScoringSettings(db, runId, { ...settings, changes }));
      return end;
    },
  };
}
