import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { refusalOf, WorkspaceRefusal } from "./workspace-error.js";

/** Path of the workspace inside the sandbox; agents use it too. */
export const INSIDE = "/workspace";

/**
 * Splits a path given by an agent. Rejects absolute paths (except `/workspace/...`), `..` and NUL. An empty list is
 * the workspace itself.
 */
export function partsOf(path: string): string[] {
  if (path.includes("\0")) throw new WorkspaceRefusal("A path cannot hold a NUL character.");
  const inside = path === INSIDE || path.startsWith(`${INSIDE}/`) ? path.slice(INSIDE.length + 1) : path;
  if (inside.startsWith("/")) {
    throw new WorkspaceRefusal(`${path} is outside the workspace. Give a path inside it, such as notes/a.txt.`);
  }
  const parts = inside.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes(".."))
    throw new WorkspaceRefusal(`${path} holds "..", which is not allowed. Name it from the top.`);
  return parts;
}

/** Opens the folder and passes `work` a path that stays valid even if the folder is renamed. */
export async function inFolder<T>(
  folders: WorkspaceFolders,
  parts: readonly string[],
  make: boolean,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const opened: FileHandle[] = [];
  let path = folders.files;
  try {
    for (const part of [null, ...parts]) {
      if (part !== null) {
        path = join(path, part);
        if (make) await makeFolder(path, folders);
      }
      const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      opened.push(handle);
      if (ANCHORED) path = `/proc/self/fd/${handle.fd}`;
    }
    return await work(path);
  } catch (error) {
    throw refusalOf(error, parts.join("/"));
  } finally {
    for (const handle of opened) await handle.close();
  }
}

/**
 * Opens regular files only: no symbolic link in any path segment, no pipe, no device. `make` also creates the file
 * and its parent folders.
 */
export async function withFile<T>(
  folders: WorkspaceFolders,
  path: string,
  make: boolean,
  work: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const parts = partsOf(path);
  const name = parts.pop();
  if (name === undefined) throw new WorkspaceRefusal(`${path} is a folder.`);
  return inFolder(folders, parts, make, async (folder) => {
    // Without O_NONBLOCK, opening a pipe without a writer would block for ever.
    const flags = constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const access = make ? constants.O_RDWR | constants.O_CREAT : constants.O_RDONLY;
    const file = await open(join(folder, name), flags | access, 0o600).catch((error: unknown) => {
      throw refusalOf(error, path);
    });
    try {
      if (!(await file.stat()).isFile()) throw new WorkspaceRefusal(`${path} is not a regular file.`);
      if (make && folders.owner !== null) await file.chown(folders.owner.uid, folders.owner.gid);
      return await work(file);
    } catch (error) {
      throw refusalOf(error, path);
    } finally {
      await file.close();
    }
  });
}

/** On Linux, /proc/self/fd names an open folder independently of renames. */
const ANCHORED = process.platform === "linux";

async function makeFolder(path: string, { owner }: WorkspaceFolders): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  if (owner === null) return;
  const made = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await made.chown(owner.uid, owner.gid).finally(() => made.close());
}
