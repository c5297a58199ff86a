// Reads and writes files that a user named: all or nothing, with clear errors.
import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { shellWord } from "./command-line.js";
import { reasonOf, UserError } from "./errors.js";
import { exactStatOf, linkStatOf, statOf } from "./file-stats.js";
import { refuseReserved } from "./reserved-files.js";

/** Maximum number of symbolic links to follow for a file that does not exist yet. */
const MAX_LINKS = 40;

/** Returns whether two paths lead to the same file, including relative paths, symbolic links and hard links. */
export function isSameFile(a: string, b: string): boolean {
  return fileIdentity(a) === fileIdentity(b);
}

/** Returns device and inode, or the resolved path if the file does not exist. */
function fileIdentity(path: string): string {
  const stats = exactStatOf(path);
  return stats === undefined ? resolvedPath(path, MAX_LINKS) : `${stats.dev}:${stats.ino}`;
}

/** Returns null if the path is not a symbolic link. */
function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function resolvedPath(path: string, links: number): string {
  const linked = links > 0 ? linkTarget(path) : null;
  if (linked !== null) return resolvedPath(resolve(dirname(path), linked), links - 1);
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return resolve(path);
  }
}

/** Checks before an expensive operation that nothing exists at the path of its output folder. */
export function checkNewFolder(flag: string, folder: string): void {
  refuseDash(flag, folder);
  if (linkStatOf(folder) !== undefined) {
    throw new UserError("output_exists", `${flag}: Cannot write ${folder}: it already exists.`, "Pass a new folder.");
  }
  checkWritable(flag, folder);
}

/**
 * Writes a new folder all or nothing: under a temporary name next to it, then renamed. If the signal aborts, stops
 * between files and leaves nothing.
 * @param files contents by their path in the folder; contents that start with `#!` become executable
 */
export async function writeFolderAtomically(
  flag: string,
  folder: string,
  files: Iterable<readonly [path: string, content: string | Uint8Array]>,
  signal?: AbortSignal,
): Promise<void> {
  const temporary = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
  removeOnExit(temporary);
  try {
    for (const [path, content] of files) {
      signal?.throwIfAborted();
      const file = join(temporary, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content, { flag: "wx", mode: isScript(content) ? 0o755 : 0o644 });
    }
    checkNewFolder(flag, folder);
    await rename(temporary, folder);
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    if (cause instanceof UserError || !(cause instanceof Error && "code" in cause) || signal?.aborted) throw cause;
    const hint = "Free some space, or pass another folder.";
    throw new UserError("output_unwritable", `${flag}: Cannot write ${folder}: ${reasonOf(cause)}.`, hint, 1, {
      cause,
    });
  } finally {
    temporaryFiles.delete(temporary);
  }
}

function isScript(content: string | Uint8Array): boolean {
  return content[0] === "#" && content[1] === "!";
}

/**
 * Paths of descriptors that are already open, so that opening them does not block: standard input and a shell's
 * `<(command)`.
 */
const OPEN_ALREADY = /^\/(dev\/(stdin$|fd\/)|proc\/self\/fd\/)/;

/**
 * Refuses a named pipe, a socket or a device: opening a pipe without a writer never ends, and some devices have no end.
 * Also refuses the open database (`reserved-files.ts`). The reader reports a missing file or a folder.
 * @throws Error with the kind of file
 */
export function requireRegularFile(path: string): void {
  const stats = statOf(path);
  if (stats?.isFile()) refuseReserved(path);
  if (stats === undefined || stats.isFile() || stats.isDirectory() || OPEN_ALREADY.test(path)) return;
  const kind = stats.isFIFO() ? "a named pipe" : stats.isSocket() ? "a socket" : "a device";
  throw Object.assign(new Error(`it is ${kind}, not a file`), { syscall: "open" });
}

/** Returns the bytes of a file from the user. Throws an Error if it cannot be read or is not a regular file. */
export function readNamedFile(path: string): Buffer {
  requireRegularFile(path);
  return readFileSync(path);
}

/** Returns the text of such a file, without a byte order mark, which editors on Windows write. */
export function readNamedText(path: string): string {
  return new TextDecoder().decode(readNamedFile(path));
}

/** Returns the text of UTF-8 bytes, without a byte order mark, or null for other bytes. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Checks before an expensive operation that its output file is writable. */
export function checkWritable(flag: string, path: string): void {
  refuseDash(flag, path);
  const folder = dirname(path);
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
    // A path with a trailing separator must be a folder. Below a file, Node 24 finds no entry where Node 20 throws.
    accessSync(stats === undefined || stats.isFile() ? join(folder, sep) : path, constants.W_OK);
  } catch (cause) {
    const { reason, hint } = whyUnwritable(cause, path, folder);
    throw new UserError("output_unwritable", `${flag}: Cannot write ${path}: ${reason}.`, hint, 2, { cause });
  }
  if (stats?.isDirectory()) {
    throw new UserError("output_unwritable", `${flag}: Cannot write ${path}: it is a folder.`, "Pass a file.");
  }
}

/**
 * Creates an output folder and its missing parents.
 * @throws UserError that names the path in the way
 */
export function createFolder(flag: string, folder: string): void {
  refuseDash(flag, folder);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    const parent = closestEntry(resolve(folder));
    const { reason, hint } = whyUnwritable(cause, folder, parent);
    throw new UserError("output_unwritable", `${flag}: Cannot create ${folder}: ${reason}.`, hint, 2, { cause });
  }
}

/** Rejects `-`, which stands for stdout in commands that can write there. They never pass it on as a path. */
function refuseDash(flag: string, path: string): void {
  if (path !== "-") return;
  throw new UserError(
    "output_unwritable",
    `${flag}: Cannot write to - (stdout).`,
    "Pass a path. ./- is a file with this name.",
  );
}

/** Returns the path itself or its closest existing parent. */
function closestEntry(path: string): string {
  return statOf(path) !== undefined || dirname(path) === path ? path : closestEntry(dirname(path));
}

function whyUnwritable(cause: unknown, path: string, folder: string): { reason: string; hint: string } {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "EROFS") {
    return { reason: "the file system is read-only", hint: "Pass a path on another file system." };
  }
  if (code === "EACCES" || code === "EPERM") {
    // Without permissions on a parent folder, it is unknown whether the folder exists.
    const denied = canAccess(folder, constants.W_OK) ? path : folder;
    return {
      reason: `no permission to write to ${denied}`,
      hint: `Make it writable: chmod u+rwx ${shellWord(denied)}, or pass another path.`,
    };
  }
  const isFolder = statOf(folder)?.isDirectory() ?? false;
  if (code === "ENOENT" && !isFolder) {
    return {
      reason: `the folder ${folder} does not exist`,
      hint: `Create it: mkdir -p ${shellWord(folder)}, or pass another path.`,
    };
  }
  const reason = isFolder ? reasonOf(cause) : `${folder} is not a folder`;
  return { reason, hint: "Pass another path." };
}

function canAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes a file from the user with `replaceFile`. Writes directly to a device or a pipe (`/dev/null`, `>(gzip)`), which
 * a rename would replace with a regular file. The event loop runs between writes, so there can be many `pieces`.
 * @throws UserError if the file cannot be written
 */
export async function writeFileAtomically(path: string, pieces: Iterable<string | Uint8Array>): Promise<void> {
  const isFile = statOf(path)?.isFile() ?? true;
  try {
    if (isFile) await replaceFile(path, pieces);
    else await writeToPipeOrDevice(path, pieces);
  } catch (error) {
    // An error without a system call comes from the source of the pieces, such as SQLite with a damaged database.
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UserError(
      "output_unwritable",
      `Cannot write ${path}: ${reasonOf(error)}.`,
      "Free some space, or pass another file. The data is still in the database.",
      1,
      { cause: error },
    );
  }
}

/**
 * Writes a file all or nothing: a temporary file next to it, synced to the disk, then renamed. Readers see the old or
 * the new file, and the last of several writers wins.
 * @param sync false for caches, where losing an entry in a power failure costs little
 */
export async function replaceFile(
  path: string,
  pieces: Iterable<string | Uint8Array>,
  { sync = true }: { readonly sync?: boolean } = {},
): Promise<void> {
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`;
  removeOnExit(temporary);
  try {
    await writeTo(temporary, "wx", pieces, sync);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    temporaryFiles.delete(temporary);
  }
}

async function writeToPipeOrDevice(path: string, pieces: Iterable<string | Uint8Array>): Promise<void> {
  // Held until the file is open, because a reader treats the end of the only writer as the end of the text.
  const pipe = statSync(path).isFIFO() ? await openReadPipe(path) : null;
  try {
    await writeTo(path, "w", pieces, false);
  } finally {
    if (pipe !== null) closeSync(pipe);
  }
}

/** Maximum milliseconds to wait for a reader of a pipe. */
const READER_MS = 10_000;

/** Opens a pipe for writing once it has a reader. Opening a pipe without a reader blocks. */
async function openReadPipe(path: string): Promise<number> {
  for (const began = performance.now(); ; await delay(20)) {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENXIO") throw cause;
      if (performance.now() - began < READER_MS) continue;
      const hint = "Start the program that reads it first.";
      throw new UserError("output_unwritable", `Cannot write ${path}: it is a named pipe without a reader.`, hint, 1, {
        cause,
      });
    }
  }
}

async function writeTo(
  path: string,
  flags: string,
  pieces: Iterable<string | Uint8Array>,
  sync: boolean,
): Promise<void> {
  const file = await open(path, flags);
  try {
    for (const chunk of joinShort(pieces)) await file.writeFile(chunk);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

/** Paths of the files and folders being written. A second Ctrl-C can exit in the middle of a write. */
const temporaryFiles = new Set<string>();
let hasExitListener = false;

function removeOnExit(path: string): void {
  temporaryFiles.add(path);
  if (hasExitListener) return;
  hasExitListener = true;
  process.on("exit", () => {
    for (const temporary of temporaryFiles) rmSync(temporary, { recursive: true, force: true });
  });
}

/** Characters per write. Pieces are often single lines. */
const CHUNK = 1 << 16;

function* joinShort(pieces: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  let chunk = "";
  for (const piece of pieces) {
    if (typeof piece === "string") {
      chunk += piece;
      if (chunk.length < CHUNK) continue;
      yield chunk;
    } else {
      if (chunk !== "") yield chunk;
      yield piece;
    }
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}
