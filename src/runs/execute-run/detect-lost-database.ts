// Stops a run whose database file was deleted or replaced, and saves its traces next to it.
import { readFingerprint } from "../../mail/corpus.js";
import type { AppContext } from "../../platform/app-context.js";
import { UserError } from "../../platform/errors.js";
import { writeFileAtomically } from "../../platform/files.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import type { FileFault, FileWatch } from "../../store/database-file.js";
import type { Db } from "../../store/open-store.js";
import { type LockWait, withWriteTransaction } from "../../store/write-transaction.js";
import { saveScoringSettings } from "../../traces/results-store.js";
import { getRun } from "../../traces/runs-store.js";
import type { Trace } from "../../traces/trace.js";
import { iterateTraces } from "../../traces/traces-store.js";
import type { SessionEnd } from "../run-tasks.js";

const GROWN = "mail was imported while it ran";

/**
 * Watches a run's database while other programs can change it. The run stops if the database is deleted or replaced.
 * Mail imported during the run is recorded with it, because later tasks can find mail that earlier ones could not.
 */
export function detectLostDatabase(
  { db, path, runId, watch }: { db: Db; path: string; runId: string; watch: FileWatch },
  waiting: LockWait,
  { note }: AppContext,
) {
  const before = readFingerprint(db);
  const lost = async (recent: readonly string[]): Promise<Error | null> => {
    const fault = watch.check();
    return fault === null ? null : saveLostTraces(fault, { db, path, runId, recent });
  };
  return {
    /** Returns the error to report: the lost database if that caused `error`, otherwise `error`. */
    explain: async (error: unknown, recent: readonly string[]): Promise<unknown> => (await lost(recent)) ?? error,
    async ended(end: SessionEnd, recent: readonly string[]): Promise<SessionEnd> {
      const error = await lost(recent);
      if (error !== null) throw error;
      if (readFingerprint(db) === before) return end;
      note(`art-e: ${GROWN}. Later tasks could find it, earlier ones could not.`);
      const { settings } = getRun(db, runId);
      const changes = [...(settings.changes ?? []), GROWN];
      await withWriteTransaction(db, waiting, () => saveScoringSettings(db, runId, { ...settings, changes }));
      return end;
    },
  };
}

/**
 * Returns the error for a run whose database was deleted or replaced. Saves the run's traces to a file next to the
 * database: all traces that SQLite can still read from the open file, and the recent ones from memory.
 */
async function saveLostTraces(
  fault: FileFault,
  { db, path, runId, recent }: { db: Db; path: string; runId: string; recent: readonly string[] },
): Promise<UserError> {
  const rescuePath = `${path}.${runId}.traces.jsonl`;
  const saved = new Set<string>();
  function* lines(): Generator<string> {
    for (const trace of lostTraces(db, runId, recent)) {
      if (saved.has(trace.traceId)) continue;
      saved.add(trace.traceId);
      yield `${toWellFormedJson(trace)}\n`;
    }
  }
  const where = await writeFileAtomically(rescuePath, lines()).then(
    () => `${saved.size === 1 ? "its trace was" : `its ${saved.size} traces were`} saved to ${rescuePath}`,
    (error: Error) => `its traces could not be saved: ${error.message}`,
  );
  return new UserError(
    "db_lost",
    `Run ${runId} stopped: ${path} was ${fault} while it ran; ${where}.`,
    "Restore the database, or import the mail again. This run cannot be resumed without the database.",
    1,
  );
}

/** Yields the traces in the file, as far as it can be read, and then the recent ones. */
function* lostTraces(db: Db, runId: string, recent: readonly string[]): Generator<Trace> {
  try {
    yield* iterateTraces(db, { runId });
  } catch {
    // The recent traces follow.
  }
  for (const json of recent) yield JSON.parse(json) as Trace;
}
