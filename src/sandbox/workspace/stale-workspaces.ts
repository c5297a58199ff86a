import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { isProcessAlive } from "../../platform/process-alive.js";

/** Prefix of this process's workspace folders; identifies the owner to later processes. */
export async function workspacePrefix(): Promise<string> {
  return `art-e-workspace-${await processIds()}-${process.pid}-`;
}

/**
 * Workspaces of this user left behind by killed processes. Those made in another container, which may share the
 * folder but not the process ids, are left alone.
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
    // A restarted container reuses process ids.
    if (pid !== process.pid || stat.mtimeMs < startedAt) stale.push(path);
  }
  return stale;
}

const startedAt = Date.now() - 1000 * process.uptime();

/** The process-id namespace: its number on Linux, the whole machine elsewhere. */
async function processIds(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? "0";
}
