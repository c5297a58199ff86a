import { createWriteStream, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import type { SchemaElement } from "hyparquet";
import { parquetWriteFile } from "hyparquet-writer";
import { type Header, pack } from "tar-stream";
import { afterAll } from "vitest";
import type { BadEmail, CorpusSource, FiledEmail } from "../../src/mail/email.js";

export const FIXTURES = fileURLToPath(new URL("../../fixtures/corpus/", import.meta.url));

export interface RawMail {
  readonly path: string;
  readonly raw: Buffer;
}

/** A temporary folder that is deleted after the test file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "art-e-corpus-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The authored emails, ordered by path. */
export function authoredMails(): RawMail[] {
  const root = join(FIXTURES, "maildir");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((name) => join(root, name))
    .filter((file) => statSync(file).isFile());
  return files.sort().map((file) => ({ path: relative(root, file), raw: readFileSync(file) }));
}

/** The expected fields of each authored email without `inbox`, written by hand. */
export function expectedMails(): Omit<FiledEmail, "inbox" | "form">[] {
  return JSON.parse(readFileSync(join(FIXTURES, "expected.json"), "utf8"));
}

export interface ReadResult {
  readonly emails: FiledEmail[];
  readonly bad: BadEmail[];
  readonly bytesRead: number;
  readonly error: unknown;
}

/** Reads a source to its end or its error. Returns the error together with the emails before it. */
export async function readAll(source: CorpusSource, signal = new AbortController().signal): Promise<ReadResult> {
  const emails: FiledEmail[] = [];
  const bad: BadEmail[] = [];
  let bytesRead = 0;
  try {
    for await (const batch of source.batches(signal)) {
      emails.push(...batch.mails);
      bad.push(...batch.bad);
      bytesRead = batch.bytesRead;
    }
  } catch (error) {
    return { emails, bad, bytesRead, error };
  }
  return { emails, bad, bytesRead, error: null };
}

export interface TarEntry extends Partial<Header> {
  readonly name: string;
  readonly content?: Buffer;
}

export function mailEntries(mails: readonly RawMail[]): TarEntry[] {
  return mails.map(({ path, raw }) => ({ name: `maildir/${path}`, content: raw }));
}

export async function writeTar(file: string, entries: readonly TarEntry[], gzip: boolean): Promise<void> {
  const archive = pack();
  for (const { content, ...header } of entries) archive.entry(header, content ?? Buffer.alloc(0));
  archive.finalize();
  const target = createWriteStream(file);
  await (gzip ? pipeline(archive, createGzip(), target) : pipeline(archive, target));
}

/** RFC 4180 with every field quoted, like Kaggle's file. */
export function csv(rows: readonly (readonly string[])[], lineEnd = "\n"): string {
  return rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(",") + lineEnd).join("");
}

/** The emails as text in a UTF-8 file, with the line ends of Python's text mode. */
export function kaggleCsv(mails: readonly RawMail[]): string {
  return csv([["file", "message"], ...mails.map(({ path, raw }) => [path, textOf(raw).replace(/\r\n/g, "\n")])]);
}

function textOf(raw: Buffer): string {
  const text = raw.toString("utf8");
  return text.includes("\ufffd") ? raw.toString("latin1") : text;
}

export function parsedCsv(emails: readonly Omit<FiledEmail, "form">[]): string {
  const rows = emails.map(({ messageId, inbox, subject, sender, to, cc, bcc, date, body }) => [
    body,
    date ?? "",
    JSON.stringify([...to, ...cc, ...bcc]),
    sender,
    subject,
    inbox ?? "",
    messageId,
  ]);
  return csv([["body", "date", "recipients", "sender", "subject", "inbox", "message_id"], ...rows]);
}

/** mboxrd: every `From ` line of an email, quoted or not, gets another `>`. */
export function mbox(mails: readonly RawMail[]): Buffer {
  const separator = Buffer.from("From someone@example.com Mon May 14 16:39:00 2001\n");
  const parts = mails.flatMap(({ raw }) => [
    separator,
    Buffer.from(raw.toString("latin1").replace(/^(>*From )/gm, ">$1"), "latin1"),
    Buffer.from("\n\n"),
  ]);
  return Buffer.concat(parts);
}

const text = (name: string): SchemaElement[] => [
  { name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
];

const list = (name: string): SchemaElement[] => [
  { name, repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST" },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
];

type ParquetEmail = Omit<FiledEmail, "inbox" | "form">;

/** The layout of `corbt/enron-emails`, with its empty lists (`['']`) and its nulls. */
export function writeParquet(filename: string, emails: readonly ParquetEmail[], rowGroupSize = 5): void {
  const addresses = (of: (email: ParquetEmail) => readonly string[]) =>
    emails.map((email) => (of(email).length === 0 ? [""] : [...of(email)]));
  parquetWriteFile({
    filename,
    rowGroupSize,
    schema: [
      { name: "schema", num_children: 9 },
      ...text("message_id"),
      ...text("subject"),
      ...text("from"),
      ...list("to"),
      ...list("cc"),
      ...list("bcc"),
      { name: "date", type: "INT64", converted_type: "TIMESTAMP_MILLIS", repetition_type: "OPTIONAL" },
      ...text("body"),
      ...text("file_name"),
    ],
    columnData: [
      { name: "message_id", data: emails.map((email) => email.messageId) },
      { name: "subject", data: emails.map((email) => email.subject || null) },
      { name: "from", data: emails.map((email) => email.sender) },
      { name: "to", data: addresses((email) => email.to) },
      { name: "cc", data: addresses((email) => email.cc) },
      { name: "bcc", data: addresses((email) => email.bcc) },
      { name: "date", data: emails.map((email) => (email.date === null ? null : new Date(email.date))) },
      { name: "body", data: emails.map((email) => email.body || null) },
      { name: "file_name", data: emails.map((email) => email.path) },
    ],
  });
}
