import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { CorpusSource } from "../../domain/mail/email.js";
import { batchMails, type ReadResult } from "../batching.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../mime/rfc822.js";

/** A single mail in a file, as mail programs save it. It has no owner. */
export async function openEml(path: string): Promise<CorpusSource> {
  const { size } = await stat(path);
  return {
    format: "eml",
    totalBytes: size,
    batches: (signal) => batchMails(readMail(path, size), () => size, signal),
  };
}

async function* readMail(path: string, size: number): AsyncGenerator<ReadResult> {
  const name = basename(path);
  const email = size > MAX_MAIL_BYTES ? TOO_LARGE : await parseEmail(await readFile(path));
  if (typeof email === "string") yield { bad: { where: name, reason: email } };
  else yield { email: { ...email, path: "", owner: null, inbox: null } };
}
