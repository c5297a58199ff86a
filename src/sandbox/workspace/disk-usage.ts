import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { WORKSPACE_LIMITS } from "../sandbox-limits.js";

export interface Entry {
  /** Relative to the listed folder, with slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  /** Length in bytes; 0 except for files. */
  readonly size: number;
  /** The larger of length and disk usage, so that sparse files count in full. */
  readonly counted: number;
}

/**
 * Everything below a folder, parents first; links are listed, never followed. A null entry stands for something
 * unreadable (no permission, nested too deep).
 */
export async function* entriesOf(folder: string, below = "", depth = 1): AsyncGenerator<Entry | null> {
  if (depth > WORKSPACE_LIMITS.depth) {
    yield null;
    return;
  }
  try {
    for await (const found of await opendir(join(folder, below))) {
      const path = below === "" ? found.name : `${below}/${found.name}`;
      const type = found.isFile() ? "file" : found.isDirectory() ? "folder" : found.isSymbolicLink() ? "link" : "other";
      yield { path, type, ...(type === "file" ? await sizeOf(join(folder, path)) : NOTHING) };
      if (type === "folder") yield* entriesOf(folder, path, depth + 1);
    }
  } catch (error) {
    // Removed meanwhile.
    if (!isGone(error)) yield null;
  }
}

export interface Usage {
  readonly files: number;
  readonly bytes: number;
  /** False: more than the workspace may hold, or hidden from being counted. */
  readonly fits: boolean;
}

/** Stops counting at the limit. */
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

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
