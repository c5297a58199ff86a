// Reads a mail source on another thread, while this one stores.
import { UserError } from "../../platform/errors.js";
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import type { CorpusBatch, CorpusFormat, CorpusSource } from "../email.js";
import type { ImportFilter } from "./import-corpus.js";
import { type PackedBatch, unpackBatch } from "./packed-batch.js";
import type { StorableMail } from "./storable-mail.js";

/** What the reading thread reads. */
export interface ReadRequest {
  readonly path: string;
  readonly format: CorpusFormat;
  readonly filter: ImportFilter;
}

/** Memory limit in MB. A source that needs more is broken or malicious. */
const LIMIT_MB = 2_048;

/** Nearly all objects are short-lived, so a large young generation saves a third of the garbage collection time. */
const YOUNG_GENERATION_MB = 96;

/** Number of batches that are requested ahead of the one being stored. */
const AHEAD = 4;

/**
 * Returns a source that is read and prepared on another thread, while this thread stores the mail. The other thread
 * opens `path` again.
 */
export function readOnThread(path: string, source: CorpusSource, filter: ImportFilter): CorpusSource<StorableMail> {
  const { format, totalBytes } = source;
  return { format, totalBytes, batches: (signal) => receive({ path, format, filter }, signal) };
}

async function* receive(request: ReadRequest, signal: AbortSignal): AsyncGenerator<CorpusBatch<StorableMail>> {
  signal.throwIfAborted();
  const thread = new WorkerRpc<null, PackedBatch | null>(builtFile("mail/import/reader-thread.js"), {
    data: request,
    youngGenerationMb: YOUNG_GENERATION_MB,
    oldGenerationMb: LIMIT_MB,
  });
  // Waiting calls are rejected when the thread ends. A race with a promise for the abort would keep all batches.
  const close = () => void thread.close();
  signal.addEventListener("abort", close, { once: true });
  const nextBatch = () => {
    const batch = thread.call(null);
    // After an error or an abort, nothing waits for the batches requested ahead.
    batch.catch(() => undefined);
    return batch;
  };
  const requested = Array.from({ length: AHEAD }, nextBatch);
  try {
    for (;;) {
      const packed = await requested.shift();
      signal.throwIfAborted();
      if (packed === undefined || packed === null) return;
      yield unpackBatch(packed);
      requested.push(nextBatch());
    }
  } catch (error) {
    signal.throwIfAborted();
    throw (error as { readonly code?: string }).code === "ERR_WORKER_OUT_OF_MEMORY"
      ? tooMuch(request.path, error as Error)
      : error;
  } finally {
    signal.removeEventListener("abort", close);
    await thread.close();
  }
}

function tooMuch(path: string, cause: Error): UserError {
  return new UserError(
    "source_too_large",
    `${path} cannot be read: it takes more than ${LIMIT_MB} MB of memory.`,
    "Split it into smaller files and import them separately.",
    1,
    { cause },
  );
}
