import { type Dirent, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { reservedInodes } from "../../platform/reserved-files.js";
import type { CorpusSource } from "../email.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../mime-body.js";
import { batchMails, fileEmail, locateMail, type ReadResult, unreadable } from "./batches.js";

/**
 * One file per mail: the CMU layout (`maildir/<owner>/<folder>/<n>.`) from `maildir` itself, its parent or one
 * owner's folder, and real Maildirs (cur, new). Files come in name order; symbolic links are reported, not followed.
 */
export async function openMaildir(folder: string): Promise<CorpusSource> {
  const { start, prefix } = await findMailRoot(folder);
  return {
    format: "maildir",
    totalBytes: null,
    batches(signal) {
      const progress = { bytes: 0 };
      return batchMails(readFolder(start, prefix, progress), () => progress.bytes, signal);
    },
  };
}

interface FileRead {
  readonly found: ReadResult;
  readonly bytes: number;
}

async function* readFolder(start: string, prefix: string, progress: { bytes: number }): AsyncGenerator<ReadResult> {
  const databases = reservedInodes();
  for await (const entry of walk(start, prefix)) {
    const { found, bytes } = await readMail(entry, databases);
    progress.bytes += bytes;
    yield found;
  }
}

interface MaildirFile {
  readonly file: string;
  readonly path: string;
  /** Why it is not read; null for a plain file. */
  readonly refused: string | null;
}

/** Synchronous reads: on the reading thread, opening by promise costs ten times as much. */
async function readMail({ file, path, refused }: MaildirFile, databases: ReadonlySet<number>): Promise<FileRead> {
  const bad = (reason: string) => ({ found: { bad: { where: file, reason } }, bytes: 0 });
  if (refused !== null) return bad(refused);
  try {
    const { ino, size } = statSync(file);
    if (databases.has(ino)) return bad("it is the database of this import");
    if (size > MAX_MAIL_BYTES) return bad(TOO_LARGE);
    const raw = readFileSync(file);
    const email = await parseEmail(raw);
    if (typeof email === "string") return { ...bad(email), bytes: raw.length };
    return { found: { email: fileEmail(email, locateMail(path), null) }, bytes: raw.length };
  } catch (error) {
    return bad(unreadable(file, error).message);
  }
}

export async function* walk(folder: string, prefix: string): AsyncGenerator<MaildirFile> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    yield { file: folder, path: prefix, refused: unreadable(folder, error).message };
    return;
  }
  const isMaildir = isMaildirFolder(entries);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const file = join(folder, entry.name);
    const path = prefix + entry.name;
    if (entry.isDirectory()) {
      // A Maildir's tmp holds undelivered mail.
      if (!(isMaildir && entry.name === "tmp")) yield* walk(file, `${path}/`);
    } else if (!isMaildir) {
      // Files beside cur and new are indexes of the mail server.
      yield { file, path, refused: refusalOf(entry) };
    }
  }
}

function refusalOf(entry: Dirent): string | null {
  if (entry.isFile()) return null;
  return entry.isSymbolicLink() ? "it is a symbolic link, which is not followed" : "it is not a plain file";
}

/** The folder to walk and the prefix of its paths: the owner's name for a single owner's folder. */
async function findMailRoot(folder: string): Promise<{ start: string; prefix: string }> {
  const entries = await list(folder);
  if (hasFolder(entries, "maildir")) return { start: join(folder, "maildir"), prefix: "" };
  const name = basename(resolve(folder));
  const isOwner = name !== "maildir" && (await isOwnerFolder(folder, entries));
  return { start: folder, prefix: isOwner ? `${name}/` : "" };
}

/** Subfolders of an owner hold mail; those of the mail root hold folders, or are Maildirs. */
async function isOwnerFolder(folder: string, entries: readonly Dirent[]): Promise<boolean> {
  if (isMaildirFolder(entries)) return true;
  let withFiles = 0;
  let withFoldersOnly = 0;
  for (const entry of entries.filter((e) => e.isDirectory())) {
    const inside = await list(join(folder, entry.name));
    if (inside.some((e) => e.isFile()) && !isMaildirFolder(inside)) withFiles++;
    else if (inside.some((e) => e.isDirectory())) withFoldersOnly++;
  }
  return withFiles > withFoldersOnly;
}

/** A real Maildir has the folders cur and new. */
function isMaildirFolder(entries: readonly Dirent[]): boolean {
  return hasFolder(entries, "cur") && hasFolder(entries, "new");
}

function hasFolder(entries: readonly Dirent[], name: string): boolean {
  return entries.some((entry) => entry.isDirectory() && entry.name === name);
}

async function list(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw unreadable(folder, error);
  }
}
