import { execFile } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pLimit, { type LimitFunction } from "p-limit";
import type { Workspace, WorkspaceFolders } from "../../domain/agents/workspace.js";
import { sandboxUser } from "../sandbox-user.js";
import { staleWorkspaces, workspacePrefix } from "./stale-workspaces.js";

/** The workspace of one task, under the system's temporary folder. Nothing is made until it is used. */
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
        root ??= await makeRoot();
        folders ??= await makeFolders(root);
        return work(folders);
      });
    },
    async close() {
      closed = true;
      await cleared;
      await oneAtATime?.(async () => {
        // A folder that cannot be removed must not cost the task its answer.
        if (root !== null) await remove(root).catch(() => undefined);
        root = null;
      });
    },
  };
}

let cleared: Promise<void> | undefined;

async function makeRoot(): Promise<string> {
  return mkdtemp(join(await realpath(tmpdir()), await workspacePrefix()));
}

/** Removes what processes that were killed have left, once. What cannot be removed is no reason not to work. */
async function clearStale(): Promise<void> {
  const stale = await realpath(tmpdir())
    .then(staleWorkspaces)
    .catch(() => []);
  for (const path of stale) await remove(path).catch(() => undefined);
}

/** Throws everything in it away, where it has grown beyond its limits. */
export async function emptyWorkspace({ files, temporary, owner }: WorkspaceFolders): Promise<void> {
  for (const folder of [files, temporary]) {
    await remove(folder);
    await makeFolder(folder, owner);
  }
}

async function makeFolders(root: string): Promise<WorkspaceFolders> {
  const owner = sandboxUser();
  const folders = { files: join(root, "files"), temporary: join(root, "temporary"), owner };
  // Whoever runs the sandbox must get through to the folders, and sees nothing else on the way.
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
 * Code may have left folders without permissions, or nested too deep for any path: `rm` gets through those, Node's
 * does not.
 */
export async function remove(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await promisify(execFile)("chmod", ["-R", "u+rwx", folder]).catch(() => undefined);
    await promisify(execFile)("rm", ["-rf", "--", folder]);
  }
}
