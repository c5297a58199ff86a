import { Worker } from "node:worker_threads";
import { type ExitCode, UserError } from "../platform/errors.js";
import type { CorpusFormat, CorpusSource } from "./email.js";
import { type ImportFilter, type PackedBatch, type PreparedBatch, type PreparedSource, unpackBatch } from "./import.js";

/** A source that needs more memory is broken or malicious. */
const LIMIT_MB = 2_048;

/** Batches buffered before the reader waits. */
const AHEAD = 4;

/** A source read and prepared on a thread while this one stores. The thread opens `path` again. */
export function readOnThread(path: string, source: CorpusSource, filter: ImportFilter): PreparedSource {
  const { format, totalBytes } = source;
  return { format, totalBytes, batches: (signal) => receive({ path, format, filter, ahead: AHEAD }, signal) };
}

async function* receive(order: ReadRequest, signal: AbortSignal): AsyncGenerator<PreparedBatch> {
  signal.throwIfAborted();
  const worker = new Worker(new URL("./import-reader-thread.js", import.meta.url), {
    workerData: order,
    // Nearly all objects are short-lived: a large young generation saves a third of the collector's work.
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
      yield unpackBatch(message.batch);
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

export interface ReadRequest {
  readonly path: string;
  readonly format: CorpusFormat;
  readonly filter: ImportFilter;
  readonly ahead: number;
}

export type ReadMessage =
  | { readonly batch: PackedBatch }
  | { readonly failure: Failure }
  | { readonly aborted: true }
  | { readonly end: true };

/** An error between threads: structured cloning drops its class. */
interface Failure {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly user?: { readonly code: string; readonly hint: string; readonly exitCode: ExitCode };
}

export function serializeError(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message, stack } = error;
  if (!(error instanceof UserError)) return { name, message, stack };
  return { name, message, stack, user: { code: error.code, hint: error.hint, exitCode: error.exitCode } };
}

function deserializeError({ message, stack, user }: Failure): Error {
  const error = user === undefined ? new Error(message) : new UserError(user.code, message, user.hint, user.exitCode);
  if (stack !== undefined) error.stack = stack;
  return error;
}
