// Reads the mail in a folder, file by file, in name order.
import { type Dirent, readFileSync, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { UserError } from "../../../platform/errors.js";
import { reservedInodes } from "../../../platform/reserved-files.js";
import type { BadEmail } from "../../email.js";
import { isAppleAttachment } from "./apple-archive.js";
import type { ReadItems } from "./batch-mails.js";
import { readPlainEmail } from "./email-file.js";
import { isPartialEmlx } from "./emlx-attachments.js";
import { diskFile, isInMaildir, type MailFile, placeIn, readHead } from "./mail-file.js";
import { MailboxLayout, sourceFolders } from "./mailbox-layout.js";
import { type FileKind, HEAD_BYTES, isPlainEmail, recognize } from "./recognize.js";
import { unreadable } from "./source-errors.js";

interface FolderFile {
  /** Path on disk. */
  readonly where: string;
  readonly name: string;
  /** Path relative to the root of the walk. */
  readonly path: string;
  readonly isInMaildir: boolean;
  readonly isLink: boolean;
}

/**
 * Reads the files of a folder and its subfolders in name order, each based on its own content. Supports the CMU layout
 * (`maildir/<owner>/<folder>/<n>.`) from `maildir` itself, its parent or one owner's folder, Maildirs, a mail program's
 * profile, an export, and any mixture. Symbolic links to single emails are reported, but not followed.
 * @param readFile reads a file with any content
 * @param onRead receives the number of bytes of every file
 */
export async function* readFolder(
  folder: string,
  readFile: (file: MailFile) => ReadItems,
  onRead: (bytes: number) => void,
): ReadItems {
  const source = sourceFolders(folder);
  const databases = reservedInodes();
  const layout = new MailboxLayout(source, (await isOneOwner(folder, source.at(-1) ?? "")) ? "owner" : "folders");
  for await (const entry of walk(folder, folder, "", layout)) {
    if ("bad" in entry) {
      yield entry;
      continue;
    }
    const { where, path } = entry;
    const read = readSmallFile(entry, databases);
    if ("bad" in read) {
      yield read;
    } else if (read.email !== null) {
      onRead(read.size);
      const result = readPlainEmail(read.email, entry, () => layout.ofEmail(path));
      yield result instanceof Promise ? await result : result;
    } else {
      yield* readFile(diskFile(where, read.size, where, placeIn(layout, path), onRead));
    }
  }
}

/** Larger files are streamed. */
const SMALL_BYTES = 4 * 1024 * 1024;

/**
 * Returns the content of a file if it is certainly a single email, otherwise null. Synchronous, because opening files
 * with promises on the reading thread takes ten times as long.
 */
function readSmallFile(
  { where, name, isInMaildir, isLink }: FolderFile,
  databases: ReadonlySet<number>,
): { readonly email: Buffer | null; readonly size: number } | { readonly bad: BadEmail } {
  try {
    const { ino, size } = statSync(where);
    if (databases.has(ino)) return { bad: { where, reason: "it is the database of this import", isSideFile: true } };
    // nmh renames a deleted email instead of removing it.
    if (/^,\d+$/.test(name)) return { bad: { where, reason: "it was deleted in MH", isSideFile: true } };
    if (isLink || size > SMALL_BYTES) return { email: null, size };
    const bytes = readFileSync(where);
    return { email: isPlainEmail(bytes, name, isInMaildir) ? bytes : null, size: bytes.length };
  } catch (error) {
    return { bad: { where, reason: unreadable(where, error).message } };
  }
}

/** @param root the top folder of the walk */
async function* walk(
  root: string,
  folder: string,
  path: string,
  layout: MailboxLayout,
): AsyncGenerator<FolderFile | { readonly bad: BadEmail }> {
  const entries = await list(folder);
  if (entries instanceof UserError) {
    yield { bad: { where: folder, reason: entries.message } };
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  layout.addFolder(
    path,
    entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })),
  );
  const isMaildir = isMaildirFolder(entries);
  const isInMaildir = ["cur", "new"].includes(basename(folder));
  for (const entry of entries) {
    const where = join(folder, entry.name);
    const below = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      if (entry.name === "Attachments" && hasFolder(entries, "Messages")) {
        yield* walkAttachments(root, where, below, layout);
      } else if (isMaildir && entry.name === "tmp") yield* refuseUndelivered(where);
      else yield* walk(root, where, below, layout);
      continue;
    }
    const isLink = entry.isSymbolicLink();
    if (entry.isFile() || (isLink && (await isLinkToTable(where, root)))) {
      yield { where, name: entry.name, path: below, isInMaildir, isLink };
    } else {
      const reason = isLink ? "it is a symbolic link, which is not followed" : "it is not a regular file";
      yield { bad: { where, reason } };
    }
  }
}

/** Omits the attachments of emails in the folder `Messages`, because they are read together with their emails. */
async function* walkAttachments(...[root, folder, path, layout]: Parameters<typeof walk>): ReturnType<typeof walk> {
  const messages = await list(join(dirname(folder), "Messages"));
  const hasPartialEmails = !(messages instanceof UserError) && messages.some(({ name }) => isPartialEmlx(name));
  for await (const found of walk(root, folder, path, layout)) {
    if (!hasPartialEmails || "bad" in found || !isAppleAttachment(found.path)) yield found;
  }
}

async function* refuseUndelivered(folder: string): AsyncGenerator<{ readonly bad: BadEmail }> {
  const reason = "it is in the tmp folder of a Maildir, so it was not delivered";
  const entries = await list(folder);
  if (entries instanceof UserError) yield { bad: { where: folder, reason: entries.message, isSideFile: true } };
  else for (const { name } of entries) yield { bad: { where: join(folder, name), reason, isSideFile: true } };
}

/** Returns whether a link leads out of the folder to a table or an mbox. Dataset caches consist of such links. */
async function isLinkToTable(link: string, root: string): Promise<boolean> {
  try {
    if (!statSync(link).isFile() || realpathSync(link).startsWith(realpathSync(root) + sep)) return false;
    const { kind } = await recognizeFile(link);
    return kind === "parquet" || kind === "csv" || kind === "mbox" || kind === "gzip";
  } catch {
    // A broken link, or a file that cannot be read.
    return false;
  }
}

export async function recognizeFile(path: string): Promise<FileKind> {
  const head = await readHead(path, HEAD_BYTES);
  return recognize(head, head.length < HEAD_BYTES, basename(path), isInMaildir(path));
}

/**
 * Returns null if a file in a folder might contain mail, otherwise the number of files per reason why they do not. A
 * link or an unreadable folder counts as a file.
 */
export async function whyNoMailIn(folder: string): Promise<ReadonlyMap<string, number> | null> {
  const reasons = new Map<string, number>();
  const add = (reason: string) => reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  for await (const entry of walk(folder, folder, "", new MailboxLayout([]))) {
    if ("bad" in entry) add(entry.bad.reason);
    else {
      const kind = await recognizeFile(entry.where).catch(() => null);
      if (kind !== null && kind.kind !== "unknown") return null;
      add(kind?.reason ?? "it cannot be read");
    }
  }
  return reasons;
}

/**
 * Whether a folder belongs to one owner. An owner's subfolders contain mail, while the mail root's subfolders contain
 * folders or are Maildirs.
 */
async function isOneOwner(folder: string, name: string): Promise<boolean> {
  const entries = await list(folder);
  if (entries instanceof UserError) throw entries;
  if (name === "maildir" || hasFolder(entries, "maildir")) return false;
  if (isMaildirFolder(entries)) return true;
  let withFiles = 0;
  let withFoldersOnly = 0;
  for (const entry of entries.filter((e) => e.isDirectory())) {
    const inside = await list(join(folder, entry.name));
    // The walk reports it.
    if (inside instanceof UserError) continue;
    if (inside.some((e) => e.isFile()) && !isMaildirFolder(inside)) withFiles++;
    else if (inside.some((e) => e.isDirectory())) withFoldersOnly++;
  }
  return withFiles > withFoldersOnly;
}

/** A real Maildir contains the folders cur and new. */
function isMaildirFolder(entries: readonly Dirent[]): boolean {
  return hasFolder(entries, "cur") && hasFolder(entries, "new");
}

function hasFolder(entries: readonly Dirent[], name: string): boolean {
  return entries.some((entry) => entry.isDirectory() && entry.name === name);
}

/** Returns the entries of a folder, or the error if it is unreadable. */
async function list(folder: string): Promise<Dirent[] | UserError> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    return unreadable(folder, error);
  }
}
