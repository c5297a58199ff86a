/** A thread that saves finished tasks: all that have come in while it was busy in one transaction. */
import { parentPort, workerData } from "node:worker_threads";
import { keepSmall, openStore } from "./open.js";
import { openRowWriter, type ResultRow } from "./runs.js";
import type { ThreadAnswer, ThreadCall } from "./thread-calls.js";

const db = openStore((workerData as { path: string }).path, { mustExist: true });
keepSmall(db);
const write = openRowWriter(db);
const writeAll = db.transaction((calls: readonly ThreadCall<ResultRow>[]) => {
  for (const { call } of calls) write(call);
});

let calls: ThreadCall<ResultRow>[] = [];

function save(): void {
  const batch = calls;
  calls = [];
  try {
    writeAll.immediate(batch);
    for (const { id } of batch) answer({ id, answer: null });
  } catch {
    // Whichever of them it was, the others are still worth keeping.
    for (const call of batch) saveAlone(call);
  }
}

function saveAlone({ id, call }: ThreadCall<ResultRow>): void {
  try {
    write(call);
    answer({ id, answer: null });
  } catch (thrown) {
    const { message, code } = thrown as Error & { code?: string };
    answer({ id, error: { message, code } });
  }
}

function answer(message: ThreadAnswer<null>): void {
  parentPort?.postMessage(message);
}

parentPort?.on("message", (call: ThreadCall<ResultRow>) => {
  if (calls.push(call) === 1) setImmediate(save);
});
