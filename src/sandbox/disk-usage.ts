import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFolders } from "../domain/agents/workspace.js";
import { WORKSPACE_LIMITS } from "./limits.js";

export interface Entry {
  /** From the folder that was asked for, with slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  /** Its length in bytes; 0 for all but files. */
  readonly size: number;
  /** What it counts for: its length or its room on disk, whichever is more, so that a file with holes counts whole. */
  readonly counted: number;
}

/**
 * Everything below a folder, folders before what is in them; links are named, never followed. Null in place of an entry:
 * something that cannot be looked into (no permission, nested too deep).
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
    // Removed while it was looked at: nothing to count.
    if (!isGone(error)) yield null;
  }
}

export interface Usage {
  readonly files: number;
  readonly bytes: number;
  /** False: more than the workspace may hold, or hidden from being counted. */
  readonly fits: boolean;
}

/** Counts until it is too much. */
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
