// The files of one task: a folder that untrusted code has written to, read and written without following links.
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import {
  chmod,
  chown,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  opendir,
  readdir,
  readlink,
  realpath,
  rm,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pLimit, { type LimitFunction } from "p-limit";
import { hasCode } from "../platform/errors.js";
import { decodeUtf8 } from "../platform/files.js";
import { isProcessAlive } from "../platform/processes.js";
import { sandboxUser, WORKSPACE_LIMITS } from "./limits.js";

interface Entry {
  /** Relative to the listed folder, with slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  /** Length in bytes, 0 for anything but files. */
  readonly size: number;
  /** The larger of length and disk usage, so that sparse files count in full. */
  readonly counted: number;
}

interface Usage {
  readonly files: number;
  readonly bytes: number;
  /** False if the workspace exceeds its limits or has uncountable parts. */
  readonly fits: boolean;
}

/** A task's folders on this machine, and the owner of new files. */
export interface WorkspaceFolders {
  /** Files that the agent sees. */
  readonly files: string;
  /** Temporary files of programs, hidden from the agent. */
  readonly temporary: string;
  /** Owner of new files, or null for the user of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** The files of one task. The folder is created at the first use and removed on close. */
export interface Workspace {
  /** Runs `work` in it, one at a time. Throws after `close`. */
  use<T>(work: (folders: WorkspaceFolders) => Promise<T>): Promise<T>;
  /** Waits for running work, then removes the folder. */
  close(): Promise<void>;
}

const TEMPORARY_FOLDERS = ["workspace", "machine", "machine-file", "left", "task", "oracle", "eval"] as const;

type TemporaryFolder = (typeof TEMPORARY_FOLDERS)[number];

/** Opens the workspace of one task, a folder below the system's temporary folder that is created at the first use. */
export function openWorkspace(): Workspace {
  let oneAtATime: LimitFunction | undefined;
  let root: string | null = null;
  cleared ??= clearStale();
  let folders: WorkspaceFolders | null = null;
  let closed = false;
  return {
    async use(work) {
      if (closed) throw new Error("the workspace is closed");
      oneAtATime ??= pLimit(1);
      return oneAtATime(async () => {
        root ??= await makeTemporaryFolder("workspace");
        folders ??= await makeFolders(root);
        return work(folders);
      });
    },
    async close() {
      closed = true;
      await cleared;
      await oneAtATime?.(async () => {
        // The task must keep its answer even if a folder cannot be removed.
        if (root !== null) await remove(root).catch(() => undefined);
        root = null;
      });
    },
  };
}

let cleared: Promise<void> | undefined;

/**
 * Creates a folder for this process below the system's temporary folder. If the process is killed, a later process
 * removes the folder.
 */
export async function makeTemporaryFolder(kind: TemporaryFolder): Promise<string> {
  cleared ??= clearStale();
  // The name identifies the process that owns the folder.
  return mkdtemp(join(await realpath(tmpdir()), `art-e-${kind}-${await processIds()}-${process.pid}-`));
}

/** Removes folders of killed processes, once per process. Failures are ignored. */
async function clearStale(): Promise<void> {
  const stale = await realpath(tmpdir())
    .then(staleFolders)
    .catch(() => []);
  for (const path of stale) await remove(path).catch(() => undefined);
}

/** Deletes the contents of a workspace that has exceeded its limits. */
export async function emptyWorkspace({ files, temporary, owner }: WorkspaceFolders): Promise<void> {
  for (const folder of [files, temporary]) {
    await remove(folder);
    await makeFolder(folder, owner);
  }
}

async function makeFolders(root: string): Promise<WorkspaceFolders> {
  const owner = sandboxUser();
  const folders = { files: join(root, "files"), temporary: join(root, "temporary"), owner };
  // The sandbox's user must be able to reach the folders, but cannot list the folder that contains them.
  await chmod(root, owner === null ? 0o700 : 0o711);
  await makeFolder(folders.files, owner);
  await makeFolder(folders.temporary, owner);
  return folders;
}

export async function makeFolder(folder: string, owner: WorkspaceFolders["owner"]): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (owner !== null) await chown(folder, owner.uid, owner.gid);
}

/**
 * Removes a folder. Untrusted code can leave folders that lack permissions or have very long paths. Node's `rm` cannot
 * remove these, but the `rm` program can.
 */
export async function remove(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await promisify(execFile)("chmod", ["-R", "u+rwx", folder]).catch(() => undefined);
    await promisify(execFile)("rm", ["-rf", "--", folder]);
  }
}

/** Reads a complete UTF-8 text file. Rejects anything else. */
export async function readText(folders: WorkspaceFolders, path: string): Promise<string> {
  const bytes = await withFile(folders, path, false, async (file) => {
    const { size } = await file.stat();
    if (size > WORKSPACE_LIMITS.fileBytes) throw new WorkspaceRefusal(`${path} is too large: ${size} bytes.`);
    return file.readFile();
  });
  const text = bytes.includes(0) ? null : decodeUtf8(bytes);
  if (text !== null) return text;
  throw new WorkspaceRefusal(`${path} is a binary file of ${bytes.length} bytes, not UTF-8 text.`);
}

/** Writes or replaces a file and returns its size in bytes. Creates parent folders. */
export async function writeText(folders: WorkspaceFolders, path: string, content: string): Promise<number> {
  const bytes = Buffer.from(content, "utf8");
  if (bytes.length > WORKSPACE_LIMITS.fileBytes) {
    throw new WorkspaceRefusal(`${path} would be too large: the maximum is ${WORKSPACE_LIMITS.fileBytes} bytes.`);
  }
  if (partsOf(path).length > WORKSPACE_LIMITS.depth) throw new WorkspaceRefusal(`${path} is nested too deeply.`);
  const usage = await usageOf(folders);
  if (usage.files + partsOf(path).length > WORKSPACE_LIMITS.files) {
    throw new WorkspaceRefusal(`The workspace is full: the maximum is ${WORKSPACE_LIMITS.files} files and folders.`);
  }
  if (usage.bytes + bytes.length > WORKSPACE_LIMITS.bytes) {
    throw new WorkspaceRefusal(`The workspace is full: the maximum is ${WORKSPACE_LIMITS.bytes} bytes.`);
  }
  await withFile(folders, path, true, async (file) => {
    await file.truncate(0);
    await file.writeFile(bytes);
  });
  return bytes.length;
}

/**
 * Returns all entries below a folder by path, at most `limit`, with their total number up to the workspace's own limit.
 */
export async function listEntries(
  folders: WorkspaceFolders,
  path: string,
  limit: number,
): Promise<{ entries: Entry[]; total: number }> {
  const parts = partsOf(path);
  const entries: Entry[] = [];
  await inFolder(folders, parts, false, async (folder) => {
    for await (const entry of entriesOf(folder)) {
      if (entry !== null) entries.push({ ...entry, path: [...parts, entry.path].join("/") });
      if (entries.length >= WORKSPACE_LIMITS.files) return;
    }
  });
  entries.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries: entries.slice(0, limit), total: entries.length };
}

/**
 * Returns this user's folders that killed processes have left. Skips folders from other containers, which can share the
 * temporary folder but not the process ids.
 */
async function staleFolders(folder: string): Promise<string[]> {
  const pattern = new RegExp(`^art-e-(?:${TEMPORARY_FOLDERS.join("|")})-${await processIds()}-(\\d+)-\\w+$`);
  const stale: string[] = [];
  for (const name of await readdir(folder)) {
    const match = pattern.exec(name);
    if (match === null) continue;
    const pid = Number(match[1]);
    if (pid !== process.pid && isProcessAlive(pid)) continue;
    const path = join(folder, name);
    const stat = await lstat(path).catch(() => null);
    if (!stat?.isDirectory() || stat.uid !== (process.getuid?.() ?? stat.uid)) continue;
    // A restarted container reuses process ids.
    if (pid !== process.pid || stat.mtimeMs < startedAt) stale.push(path);
  }
  return stale;
}

const startedAt = Date.now() - 1000 * process.uptime();

/** Returns the process id namespace: its number on Linux, or 0 for the entire machine elsewhere. */
async function processIds(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}

/** Path of the workspace inside the sandbox. Agents use it too. */
export const INSIDE = "/workspace";

/**
 * Splits a path from an agent. Rejects absolute paths (except `/workspace/...`), `..` and NUL. An empty list means the
 * workspace itself.
 */
function partsOf(path: string): string[] {
  if (path.includes("\0")) throw new WorkspaceRefusal("A path cannot contain a NUL character.");
  const inside = path === INSIDE || path.startsWith(`${INSIDE}/`) ? path.slice(INSIDE.length + 1) : path;
  if (inside.startsWith("/")) {
    throw new WorkspaceRefusal(`${path} is outside the workspace. Use a path inside it, such as notes/a.txt.`);
  }
  const parts = inside.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes(".."))
    throw new WorkspaceRefusal(`${path} contains "..", which is not allowed. Use the path from the workspace's root.`);
  return parts;
}

/** Opens the folder and calls `work` with a path that stays valid even if the folder is renamed. */
async function inFolder<T>(
  folders: WorkspaceFolders,
  parts: readonly string[],
  make: boolean,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const handles: FileHandle[] = [];
  let path = folders.files;
  try {
    for (const part of [null, ...parts]) {
      if (part !== null) {
        path = join(path, part);
        if (make) await makeFolderNoFollow(path, folders);
      }
      const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      handles.push(handle);
      if (ANCHORED) path = `/proc/self/fd/${handle.fd}`;
    }
    return await work(path);
  } catch (error) {
    throw refusalOf(error, parts.join("/"));
  } finally {
    for (const handle of handles) await handle.close();
  }
}

/**
 * Opens only regular files: no symbolic link in any path segment, no pipe, no device. `make` also creates the file and
 * its parent folders.
 */
async function withFile<T>(
  folders: WorkspaceFolders,
  path: string,
  make: boolean,
  work: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const parts = partsOf(path);
  const name = parts.pop();
  if (name === undefined) throw new WorkspaceRefusal(`${path} is a folder.`);
  return inFolder(folders, parts, make, async (folder) => {
    // Without O_NONBLOCK, opening a pipe without a writer would block forever.
    const flags = constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const access = make ? constants.O_RDWR | constants.O_CREAT : constants.O_RDONLY;
    try {
      await using file = await open(join(folder, name), flags | access, 0o600);
      if (!(await file.stat()).isFile()) throw new WorkspaceRefusal(`${path} is not a regular file.`);
      if (make && folders.owner !== null) await file.chown(folders.owner.uid, folders.owner.gid);
      return await work(file);
    } catch (error) {
      throw refusalOf(error, path);
    }
  });
}

/** On Linux, /proc/self/fd refers to an open folder independently of renames. */
const ANCHORED = process.platform === "linux";

async function makeFolderNoFollow(path: string, { owner }: WorkspaceFolders): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw error;
  }
  if (owner === null) return;
  await using handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await handle.chown(owner.uid, owner.gid);
}

/** An error about a path or file that the agent can fix. The message is for the agent. */
export class WorkspaceRefusal extends Error {
  override readonly name = "WorkspaceRefusal";
}

/** Translates a system error about a workspace path. Returns other errors unchanged. */
function refusalOf(error: unknown, path: string): unknown {
  const meaning = MEANINGS[(error as NodeJS.ErrnoException).code ?? ""];
  return meaning === undefined ? error : new WorkspaceRefusal(`${path} ${meaning}`);
}

const MEANINGS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist in the workspace. Call list_files to see the existing files.",
  ENOTDIR: "goes through something that is not a folder.",
  EISDIR: "is a folder.",
  ELOOP: "is or goes through a symbolic link, which is not followed.",
  EACCES: "cannot be opened: permission denied.",
  EPERM: "cannot be opened: permission denied.",
  ENXIO: "is not a regular file.",
  ENODEV: "is not a regular file.",
  ENAMETOOLONG: "is too long for a path.",
  EINVAL: "is not a valid path.",
  ENOSPC: "cannot be written: the disk is full.",
  EDQUOT: "cannot be written: the disk is full.",
};

/**
 * Yields all entries below a folder, parents first. Lists links without following them. A null entry represents
 * something unreadable (no permission, nested too deeply).
 */
async function* entriesOf(folder: string, below = "", depth = 1): AsyncGenerator<Entry | null> {
  if (depth > WORKSPACE_LIMITS.depth) {
    yield null;
    return;
  }
  try {
    for await (const entry of await opendir(join(folder, below))) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      const type = entry.isFile() ? "file" : entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other";
      yield { path, type, ...(type === "file" ? await sizeOf(join(folder, path)) : NOTHING) };
      if (type === "folder") yield* entriesOf(folder, path, depth + 1);
    }
  } catch (error) {
    // Removed in the meantime.
    if (!isGone(error)) yield null;
  }
}

/** Counts files and bytes. Stops counting at the limit. */
export async function usageOf({ files, temporary }: WorkspaceFolders): Promise<Usage> {
  const usage = { files: 0, bytes: 0 };
  for (const folder of [files, temporary]) {
    for await (const entry of entriesOf(folder)) {
      if (entry === null) return { ...usage, fits: false };
      usage.files++;
      usage.bytes += entry.counted;
      if (usage.files > WORKSPACE_LIMITS.files || usage.bytes > WORKSPACE_LIMITS.bytes)
        return { ...usage, fits: false };
    }
  }
  return { ...usage, fits: true };
}

const NOTHING = { size: 0, counted: 0 };

async function sizeOf(path: string): Promise<typeof NOTHING> {
  try {
    const { size, blocks } = await lstat(path);
    return { size, counted: Math.max(size, blocks * 512) };
  } catch (error) {
    if (isGone(error)) return NOTHING;
    throw error;
  }
}

const isGone = (error: unknown) => hasCode(error, "ENOENT", "ENOTDIR");
