import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { parseJsonOrNull } from "../platform/parse-json.js";
import { isProcessAlive } from "../platform/process-alive.js";

/**
 * The unfinished part of a download, kept so that the next attempt can go on from it.
 *
 * It is a folder, `<target>.partial`, holding the bytes and the ETag they belong to. Who downloads
 * first renames it to a name of their own, with host and process id in it: a rename succeeds for one
 * process only, so no two ever write the same bytes and nobody waits for a lock. A process that finds
 * nothing to claim starts a folder of its own. What a killed process left behind is claimed the same way.
 */
export interface PartialDownload {
  readonly bytesPath: string;
  /** How many bytes there are, and the strong ETag they can be continued under; null: they cannot. */
  state(): Promise<{ size: number; etag: string | null }>;
  /** Drops the bytes and notes the ETag of what will be written next. */
  restart(etag: string | null): Promise<void>;
  /** Gives the name up: kept for the next download where the bytes can be continued, else removed. */
  release(): Promise<void>;
  /** Removes this and everything abandoned beside it; for after the bytes were moved to the target. */
  finish(): Promise<void>;
}

const stateSchema = z.object({ etag: z.string().nullable() });

/** Claims of this process that are in use: another download here must not take them for a dead process's. */
const activeFolders = new Set<string>();

/** Long enough that no download on another machine, seen over a shared folder, can still be writing. */
const ABANDONED_AFTER_MS = 3_600_000;

/** The target's folder must exist. */
export async function lockPartialDownload(target: string): Promise<PartialDownload> {
  const free = `${target}.partial`;
  const own = `${free}-${safeHostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  activeFolders.add(own);
  for (const candidate of [free, ...(await findAbandoned(target))]) {
    if (await tryRename(candidate, own)) return partialIn(own, target);
  }
  await mkdir(own);
  return partialIn(own, target);
}

function partialIn(folder: string, target: string): PartialDownload {
  const bytesPath = join(folder, "bytes");
  const statePath = join(folder, "state.json");

  const partial: PartialDownload = {
    bytesPath,
    async state() {
      const size = await sizeOf(bytesPath);
      const { etag } = await readState(statePath);
      return { size, etag };
    },
    async restart(etag) {
      // In this order: bytes never lie under an ETag that is not theirs.
      await writeFile(bytesPath, "", { flag: "a" });
      await truncate(bytesPath, 0);
      await writeFile(statePath, JSON.stringify({ etag }));
    },
    async release() {
      const { size, etag } = await partial.state();
      const kept = size > 0 && etag !== null && (await tryRename(folder, `${target}.partial`));
      if (!kept) await rm(folder, { recursive: true, force: true });
      activeFolders.delete(folder);
    },
    async finish() {
      for (const path of [folder, `${target}.partial`, ...(await findAbandoned(target))]) {
        await rm(path, { recursive: true, force: true });
      }
      activeFolders.delete(folder);
    },
  };
  return partial;
}

/** False where the source is gone (another process took it) or the destination is taken. */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, ["ENOENT", "ENOTEMPTY", "EEXIST", "EPERM"])) return false;
    throw error;
  }
}

/** Claims on the target whose process is gone. */
async function findAbandoned(target: string): Promise<string[]> {
  const prefix = `${basename(target)}.partial-`;
  const found: string[] = [];
  for (const name of await readdir(dirname(target))) {
    const claim = name.startsWith(prefix) ? /^(.+)-(\d+)-[0-9a-f]{8}$/.exec(name.slice(prefix.length)) : null;
    if (claim === null) continue;
    const path = join(dirname(target), name);
    if (await isAbandoned(path, claim[1] ?? "", Number(claim[2]))) found.push(path);
  }
  return found;
}

async function isAbandoned(path: string, host: string, pid: number): Promise<boolean> {
  if (host === safeHostname()) return pid === process.pid ? !activeFolders.has(path) : !isProcessAlive(pid);
  const touched = await stat(join(path, "bytes")).catch(() => stat(path).catch(() => null));
  return touched !== null && Date.now() - touched.mtimeMs > ABANDONED_AFTER_MS;
}

function safeHostname(): string {
  return hostname().replace(/[^\w.-]/g, "_");
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, ["ENOENT"])) return 0;
    throw error;
  }
}

/** A missing or torn state means: start anew. */
async function readState(path: string): Promise<{ etag: string | null }> {
  const text = await readFile(path, "utf8").catch(() => "");
  return stateSchema.safeParse(parseJsonOrNull(text)).data ?? { etag: null };
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
