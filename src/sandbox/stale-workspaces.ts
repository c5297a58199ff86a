import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { isProcessAlive } from "../platform/process-alive.js";

/** How the folders of this process's workspaces begin: with who made them, so that the next process can tell. */
export async function workspacePrefix(): Promise<string> {
  return `art-e-workspace-${await processIds()}-${process.pid}-`;
}

/**
 * The workspaces of this user that processes have left which were killed. Of a process in another container, which may
 * share the folder but not the ids, nothing is known: what it has made stays.
 */
export async function staleWorkspaces(folder: string): Promise<string[]> {
  const pattern = new RegExp(`^art-e-workspace-${await processIds()}-(\\d+)-\\w+$`);
  const stale: string[] = [];
  for (const name of await readdir(folder)) {
    const found = pattern.exec(name);
    if (found === null) continue;
    const pid = Number(found[1]);
    if (pid !== process.pid && isProcessAlive(pid)) continue;
    const path = join(folder, name);
    const stat = await lstat(path).catch(() => null);
    if (!stat?.isDirectory() || stat.uid !== (process.getuid?.() ?? stat.uid)) continue;
    // In a container that is started again, the one before had the same id.
    if (pid !== process.pid || stat.mtimeMs < startedAt) stale.push(path);
  }
  return stale;
}

const startedAt = Date.now() - 1000 * process.uptime();

/** Within which process ids mean the same: Linux's number for it, elsewhere the whole machine. */
async function processIds(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}
