/** A thread that saves finished tasks, as many as come together in one transaction. */
import { parentPort, workerData } from "node:worker_threads";
import { keepSmall, openStore } from "./open.js";
import type { SaveOutcome } from "./result-writer.js";
import { openRowWriter, type ResultRow } from "./runs.js";
import type { ThreadAnswer, ThreadCall } from "./thread-calls.js";

const db = openStore((workerData as { path: string }).path, { mustExist: true });
keepSmall(db);
const write = openRowWriter(db);
const writeAll = db.transaction((rows: readonly ResultRow[]) => {
  for (const row of rows) write(row);
});

function save(rows: readonly ResultRow[]): SaveOutcome[] {
  try {
    writeAll.immediate(rows);
    return rows.map(() => null);
  } catch {
    // Whichever of them it was, the others are still worth keeping.
    return rows.map(saveAlone);
  }
}

function saveAlone(row: ResultRow): SaveOutcome {
  try {
    write(row);
    return null;
  } catch (thrown) {
    const { message, code } = thrown as Error & { code?: string };
    return { message, code };
  }
}

parentPort?.on("message", ({ id, call }: ThreadCall<readonly ResultRow[]>) => {
  parentPort?.postMessage({ id, answer: save(call) } satisfies ThreadAnswer<SaveOutcome[]>);
});
