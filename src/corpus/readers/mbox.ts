import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { CorpusSource } from "../../domain/mail/email.js";
import { batchMails, type ReadResult } from "../batching.js";
import { isGzip, readHead } from "../magic-bytes.js";
import { parseEmail, TOO_LARGE } from "../mime/rfc822.js";
import { brokenSource, isSystemError, unreadable } from "../source-errors.js";
import { gunzip } from "./gunzip.js";
import { fileEmail } from "./mail-location.js";
import { MboxMessages } from "./mbox-messages.js";

/**
 * One or more mbox files (RFC 4155), gzipped or not. Mails have no path; the owner is the file name without
 * extensions. Progress counts bytes on disk.
 */
export async function openMbox(paths: readonly string[]): Promise<CorpusSource> {
  let totalBytes = 0;
  for (const path of paths) totalBytes += (await stat(path)).size;
  return {
    format: "mbox",
    totalBytes,
    batches(signal) {
      const progress = { bytes: 0 };
      return batchMails(readFiles(paths, progress), () => progress.bytes, signal);
    },
  };
}

async function* readFiles(paths: readonly string[], progress: { bytes: number }): AsyncGenerator<ReadResult> {
  for (const path of paths) yield* readFile(path, progress);
}

async function* readFile(path: string, progress: { bytes: number }): AsyncGenerator<ReadResult> {
  const name = basename(path);
  const isZipped = isGzip(await readHead(path, 2));
  const plain = isZipped ? basename(path, ".gz") : name;
  const owner = basename(plain, extname(plain));
  const messages = new MboxMessages();
  let number = 0;
  const found = async (raw: Buffer | null): Promise<ReadResult> => {
    number++;
    const email = raw === null ? TOO_LARGE : await parseEmail(raw);
    if (typeof email === "string") return { bad: { where: `${name} mail ${number}`, reason: email } };
    return { email: fileEmail(email, { path: "", owner }, null) };
  };
  try {
    const bytes = readBytes(path, progress);
    for await (const chunk of isZipped ? gunzip(bytes) : bytes) {
      for (const raw of messages.push(chunk)) yield await found(raw);
    }
    for (const raw of messages.end()) yield await found(raw);
  } catch (error) {
    if (isSystemError(error)) throw unreadable(path, error);
    throw isZipped ? brokenSource(name, `after ${number} whole mails`, error) : error;
  }
}

async function* readBytes(path: string, progress: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    progress.bytes += chunk.length;
    yield chunk;
  }
}
