import { Worker } from "node:worker_threads";
import { UserError } from "../domain/errors.js";
import type { CorpusBatch, CorpusSource } from "../domain/mail/email.js";
import { deserializeError, type ReadMessage, type ReadRequest, serializeError } from "./worker-messages.js";

/** What reading may take: a source that needs more is broken, or means to do harm. */
const LIMIT_MB = 2_048;

/** Batches that may lie ready before the reader waits for their user. */
const AHEAD = 4;

/**
 * The same source, read and parsed on a thread of its own, so that storing goes on meanwhile. `path` and the source's
 * format are opened again there.
 */
export function readInWorker(path: string, source: CorpusSource): CorpusSource {
  const { format, totalBytes } = source;
  return { format, totalBytes, batches: (signal) => receive({ path, format, ahead: AHEAD }, signal) };
}

async function* receive(order: ReadRequest, signal: AbortSignal): AsyncGenerator<CorpusBatch> {
  signal.throwIfAborted();
  const worker = new Worker(new URL("./reader-worker.js", import.meta.url), {
    workerData: order,
    // Nearly all it makes is thrown away at once: room for it saves a third of the collector's work.
    resourceLimits: { maxYoungGenerationSizeMb: 96, maxOldGenerationSizeMb: LIMIT_MB },
  });
  const ready: ReadMessage[] = [];
  let wake = () => {};
  const take = async (): Promise<ReadMessage> => {
    for (;;) {
      const message = ready.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const add = (message: ReadMessage) => {
    ready.push(message);
    wake();
  };
  worker.on("message", add);
  worker.on("error", (error: Error & { code?: string }) =>
    add({ failure: serializeError(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? tooMuch(order.path, error) : error) }),
  );
  const onAbort = () => add({ aborted: true });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const message = await take();
      signal.throwIfAborted();
      if ("failure" in message) throw deserializeError(message.failure);
      if (!("batch" in message)) return;
      yield message.batch;
      worker.postMessage("next");
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}

function tooMuch(path: string, cause: Error): UserError {
  return new UserError(
    "source_too_large",
    `${path} cannot be read: it takes more than ${LIMIT_MB} MB of memory.`,
    "Split it into smaller files, and import one after the other.",
    1,
    { cause },
  );
}
