import { Worker } from "node:worker_threads";
import { type ExitCode, UserError } from "../../platform/errors.js";
import { builtFile } from "../../platform/installation.js";
import type { BadEmail, CorpusBatch, CorpusFormat, CorpusSource, MailForm } from "../email.js";
import type { ArtFinding, ImportFilter, PreparedMail } from "./import-corpus.js";

/** Memory limit in MB. A source that needs more is broken or malicious. */
const LIMIT_MB = 2_048;

/** Number of batches buffered before the reader waits. */
const AHEAD = 4;

/**
 * Returns a source that is read and prepared on another thread while this thread stores. The other thread opens `path`
 * again.
 */
export function readOnThread(path: string, source: CorpusSource, filter: ImportFilter): CorpusSource<PreparedMail> {
  const { format, totalBytes } = source;
  return { format, totalBytes, batches: (signal) => receive({ path, format, filter, ahead: AHEAD }, signal) };
}

async function* receive(order: ReadRequest, signal: AbortSignal): AsyncGenerator<CorpusBatch<PreparedMail>> {
  signal.throwIfAborted();
  const worker = new Worker(builtFile("mail/import/reader-thread.js"), {
    workerData: order,
    // Nearly all objects are short-lived, so a large young generation saves a third of the garbage collection time.
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
    "Split it into smaller files and import them one by one.",
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
  | { readonly failure: ThreadError }
  | { readonly aborted: true }
  | { readonly end: true };

/** An error sent between threads, because structured cloning drops its class. */
interface ThreadError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly user?: { readonly code: string; readonly hint: string; readonly exitCode: ExitCode };
}

export function serializeError(error: unknown): ThreadError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message, stack } = error;
  if (!(error instanceof UserError)) return { name, message, stack };
  return { name, message, stack, user: { code: error.code, hint: error.hint, exitCode: error.exitCode } };
}

function deserializeError({ message, stack, user }: ThreadError): Error {
  const error = user === undefined ? new Error(message) : new UserError(user.code, message, user.hint, user.exitCode);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/**
 * A batch sent between threads, with the fields of all emails in one list. Cloning a list of strings takes a fifth of
 * the time needed to clone the same number of objects.
 */
interface PackedBatch {
  readonly fields: readonly unknown[];
  readonly bad: readonly BadEmail[];
  readonly bytesRead: number;
}

export function packBatch({ mails, bad, bytesRead }: CorpusBatch<PreparedMail>): PackedBatch {
  const fields: unknown[] = [];
  for (const { messageId, path, owner, inbox, form, contentHash, art, names, content } of mails) {
    fields.push(messageId, path, owner, inbox, form, contentHash, art, names, content !== null);
    if (content === null) continue;
    const { subject, sender, recipients, toCount, ccCount, date, body } = content;
    fields.push(subject, sender, recipients, toCount, ccCount, date, body);
  }
  return { fields, bad, bytesRead };
}

export function unpackBatch({ fields, bad, bytesRead }: PackedBatch): CorpusBatch<PreparedMail> {
  const mails: PreparedMail[] = [];
  let at = 0;
  const text = () => fields[at++] as string;
  const textOrNull = () => fields[at++] as string | null;
  const number = () => fields[at++] as number;
  const content = () => ({
    subject: text(),
    sender: text(),
    recipients: text(),
    toCount: number(),
    ccCount: number(),
    date: textOrNull(),
    body: text(),
  });
  while (at < fields.length) {
    mails.push({
      messageId: text(),
      path: text(),
      owner: textOrNull(),
      inbox: textOrNull(),
      form: text() as MailForm,
      contentHash: text(),
      art: fields[at++] as ArtFinding | null,
      names: fields[at++] as readonly string[],
      content: fields[at++] === true ? content() : null,
    });
  }
  return { mails, bad, bytesRead };
}
