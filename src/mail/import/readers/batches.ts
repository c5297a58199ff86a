import { open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { UserError } from "../../../platform/errors.js";
import { requireRegularFile } from "../../../platform/files.js";
import type { AsWritten, BadEmail, CorpusBatch, Email, FiledEmail, HeaderNames, MailForm } from "../../email.js";

/** A truncated or damaged source. Inside a folder or an archive, it is skipped, with `problem` as the reason. */
export class BrokenSource extends UserError {
  /** @param problem the rest of a sentence that starts with the name */
  constructor(
    name: string,
    readonly problem: string,
    hint: string,
    cause: unknown,
  ) {
    super("broken_source", `${name} ${problem}`, hint, undefined, { cause });
  }
}

/** @param where the progress, such as `after 1,204 of 9,000 bytes` */
export function brokenSource(name: string, where: string, cause: unknown): BrokenSource {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const problem = `is truncated or damaged ${where}: ${reason}`;
  return new BrokenSource(name, problem, "Download the file again, then import it.", cause);
}

/**
 * Compressed or archived data that cannot be decoded. Readers that know their position convert it to a `BrokenSource`.
 */
export class DamagedData extends Error {
  override readonly name = "DamagedData";

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Returns the error for a file or folder that the system cannot read. */
export function unreadable(path: string, cause: unknown): UserError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ENOENT" || code === "ENOTDIR") {
    const hint = "Check the path of the mail to import.";
    return new UserError("source_missing", `${path} does not exist`, hint, undefined, { cause });
  }
  return new UserError(
    "source_unreadable",
    `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    "Check that you have permission to read it.",
    undefined,
    { cause },
  );
}

/** Whether an error comes from the file system (ENOENT, EACCES, EIO), not from a decoder. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

export interface MailLocation {
  readonly path: string;
  readonly owner: string | null;
}

/**
 * Returns the path and the owner folder of an email. Removes a prefix up to `maildir` in the first two segments
 * (`enron_mail_20110402/maildir/lay-k/inbox/1.`). An email outside a folder does not have an owner.
 */
export function locateMail(path: string): MailLocation {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const root = segments.slice(0, 2).indexOf("maildir");
  const kept = segments.slice(root + 1);
  return { path: kept.join("/"), owner: kept.length > 1 ? (kept[0] ?? null) : null };
}

/** Combines an email with its location. `inbox` is its mailbox's address if the source contains it. */
export function fileEmail(
  email: Email,
  { path, owner }: MailLocation,
  form: MailForm,
  inbox: string | null = null,
): FiledEmail {
  const { messageId, subject, sender, to, cc, bcc, date, body, headerNames, asWritten } = email;
  // Spread syntax would take a tenth of the time needed to read a corpus.
  const filed: FiledEmail & { headerNames?: HeaderNames; asWritten?: AsWritten } = {
    messageId,
    subject,
    sender,
    to,
    cc,
    bcc,
    date,
    body,
    path,
    owner,
    inbox,
    form,
  };
  if (headerNames !== undefined) filed.headerNames = headerNames;
  if (asWritten !== undefined) filed.asWritten = asWritten;
  return filed;
}

/** Maximum expansion factor. Mail compresses to a tenth of its size. Deflate reaches a thousandth at best. */
const MAX_EXPANSION = 200;
/** Smaller outputs are harmless, regardless of their input. */
const FREE_BYTES = 1_000_000_000;

/** @throws DamagedData if the output is so long that the input must be a decompression bomb */
export function checkExpansion(compressedBytes: number, bytes: number): void {
  if (bytes < FREE_BYTES || bytes <= compressedBytes * MAX_EXPANSION) return;
  throw new DamagedData(`it expands to more than ${MAX_EXPANSION} times its size, like a decompression bomb`);
}

/** Decompresses a stream. Unlike a pipe, it yields all output before the error of a truncated or damaged file. */
export async function* gunzip(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytesIn = 0;
  let bytesOut = 0;
  const counted = async function* () {
    for await (const chunk of compressed) {
      bytesIn += chunk.length;
      yield chunk;
    }
  };
  try {
    for await (const chunk of gunzipUnbounded(counted())) {
      bytesOut += chunk.length;
      checkExpansion(bytesIn, bytesOut);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof UserError || error instanceof DamagedData ? error : new DamagedData(error);
  }
}

async function* gunzipUnbounded(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize: 256 * 1024 });
  let ready: Buffer[] = [];
  let failure: Error | null = null;
  stream.on("data", (chunk: Buffer) => ready.push(chunk));
  stream.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  const take = () => {
    const chunks = ready;
    ready = [];
    return chunks;
  };
  try {
    for await (const chunk of compressed) {
      const written = new Promise<void>((resolve) => stream.write(chunk, () => resolve()));
      await Promise.race([written, closed]);
      yield* take();
      if (stream.destroyed) break;
    }
    if (!stream.destroyed) stream.end();
    await closed;
    yield* take();
    if (failure !== null) throw failure;
  } finally {
    stream.destroy();
  }
}

/** Returns the first bytes of a file, or the entire file if it is shorter. Throws file system errors unchanged. */
export async function readHead(file: string, length: number): Promise<Buffer> {
  requireRegularFile(file);
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether the data starts with the gzip signature (RFC 1952 2.3.1). */
export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

export type ReadResult = { readonly email: FiledEmail } | { readonly bad: BadEmail };

export type ReadItems = AsyncGenerator<ReadResult | readonly ReadResult[]>;

const MAILS_PER_BATCH = 500;
/** Number of body characters that end a batch early, to limit memory use with huge emails. */
const CHARS_PER_BATCH = 8_000_000;

/**
 * Groups a reader's items into batches of at most 500. If the signal aborts, rejects with its reason after the current
 * batch. If the source fails, yields the items read so far before the error.
 */
export async function* batchMails(
  found: AsyncIterable<ReadResult | readonly ReadResult[]>,
  bytesRead: () => number,
  signal: AbortSignal,
): AsyncGenerator<CorpusBatch> {
  signal.throwIfAborted();
  let mails: FiledEmail[] = [];
  let bad: BadEmail[] = [];
  let text = 0;
  const takeBatch = (): CorpusBatch => {
    const batch = { mails, bad, bytesRead: bytesRead() };
    mails = [];
    bad = [];
    text = 0;
    return batch;
  };
  try {
    for await (const items of found) {
      for (const item of "length" in items ? items : [items]) {
        if ("email" in item) {
          mails.push(item.email);
          text += item.email.body.length;
        } else {
          bad.push(item.bad);
        }
        if (mails.length + bad.length < MAILS_PER_BATCH && text < CHARS_PER_BATCH) continue;
        yield takeBatch();
        signal.throwIfAborted();
      }
    }
  } catch (error) {
    if (mails.length + bad.length > 0) yield takeBatch();
    throw error;
  }
  if (mails.length + bad.length > 0) yield takeBatch();
}
