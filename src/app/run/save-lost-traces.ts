import { UserError } from "../../domain/errors.js";
import type { Trace } from "../../domain/runs/trace.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import type { FileFault } from "../../store/connection/file-watch.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateTraces } from "../../store/runs/traces.js";

/**
 * The error of a run whose database was deleted or replaced. Saves its traces to a file beside it: those SQLite can
 * still read from the open file, and the recent ones from memory.
 */
export async function saveLostTraces(
  fault: FileFault,
  { db, path, runId, recent }: { db: Db; path: string; runId: string; recent: readonly string[] },
): Promise<UserError> {
  const kept = `${path}.${runId}.traces.jsonl`;
  const counted = { traces: 0 };
  const where = await writeFileAtomically(kept, traceLines(db, runId, recent, counted)).then(
    () => (counted.traces === 1 ? `its trace is in ${kept}` : `its ${counted.traces} traces are in ${kept}`),
    (error: Error) => `its traces could not be kept: ${error.message}`,
  );
  return new UserError(
    "db_lost",
    `Run ${runId} stopped: ${path} was ${fault} while it ran; ${where}.`,
    "Put the database back, or import the mail again; this run cannot be resumed without it.",
    1,
  );
}

function* traceLines(db: Db, runId: string, recent: readonly string[], counted: { traces: number }): Generator<string> {
  const have = new Set<string>();
  for (const trace of readable(iterateTraces(db, { runId }))) {
    have.add(trace.traceId);
    counted.traces++;
    yield `${JSON.stringify(trace)}\n`;
  }
  for (const json of recent) {
    if (have.has((JSON.parse(json) as Trace).traceId)) continue;
    counted.traces++;
    yield `${json}\n`;
  }
}

/** Items up to the first that cannot be read. */
function* readable<T>(items: Iterable<T>): Generator<T> {
  try {
    yield* items;
  } catch {
    return;
  }
}
