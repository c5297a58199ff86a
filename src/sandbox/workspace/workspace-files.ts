import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { WORKSPACE_LIMITS } from "../sandbox-limits.js";
import { type Entry, entriesOf, usageOf } from "./disk-usage.js";
import { inFolder, partsOf, withFile } from "./safe-open.js";
import { WorkspaceRefusal } from "./workspace-error.js";

/** Reads a complete UTF-8 text file; rejects anything else. */
export async function readText(folders: WorkspaceFolders, path: string): Promise<string> {
  const bytes = await withFile(folders, path, false, async (file) => {
    const { size } = await file.stat();
    if (size > WORKSPACE_LIMITS.fileBytes) throw new WorkspaceRefusal(`${path} is too large: ${size} bytes.`);
    return file.readFile();
  });
  const text = bytes.includes(0) ? null : decode(bytes);
  if (text !== null) return text;
  throw new WorkspaceRefusal(`${path} is a binary file of ${bytes.length} bytes, not UTF-8 text.`);
}

/** Writes or replaces a file, and says how many bytes it has. Creates parent folders. */
export async function writeText(folders: WorkspaceFolders, path: string, content: string): Promise<number> {
  const bytes = Buffer.from(content, "utf8");
  if (bytes.length > WORKSPACE_LIMITS.fileBytes) {
    throw new WorkspaceRefusal(`${path} would be too large: a file may have ${WORKSPACE_LIMITS.fileBytes} bytes.`);
  }
  if (partsOf(path).length > WORKSPACE_LIMITS.depth) throw new WorkspaceRefusal(`${path} is nested too deep.`);
  const usage = await usageOf(folders);
  if (usage.files + partsOf(path).length > WORKSPACE_LIMITS.files) {
    throw new WorkspaceRefusal(`The workspace is full: it may hold ${WORKSPACE_LIMITS.files} files and folders.`);
  }
  if (usage.bytes + bytes.length > WORKSPACE_LIMITS.bytes) {
    throw new WorkspaceRefusal(`The workspace is full: it may hold ${WORKSPACE_LIMITS.bytes} bytes.`);
  }
  await withFile(folders, path, true, async (file) => {
    await file.truncate(0);
    await file.writeFile(bytes);
  });
  return bytes.length;
}

/**
 * Everything below a folder, by path; at most `limit` entries, with how many there are up to the workspace's own
 * limit.
 */
export async function listEntries(
  folders: WorkspaceFolders,
  path: string,
  limit: number,
): Promise<{ entries: Entry[]; total: number }> {
  const parts = partsOf(path);
  const found: Entry[] = [];
  await inFolder(folders, parts, false, async (folder) => {
    for await (const entry of entriesOf(folder)) {
      if (entry !== null) found.push({ ...entry, path: [...parts, entry.path].join("/") });
      if (found.length >= WORKSPACE_LIMITS.files) return;
    }
  });
  found.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries: found.slice(0, limit), total: found.length };
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
