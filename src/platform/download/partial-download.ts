import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { parseJsonOrNull } from "../parse-json.js";
import { isProcessAlive } from "../process-alive.js";

/**
 * An unfinished download that a later attempt can resume: a folder `<target>.partial` with the bytes and their ETag.
 *
 * A process locks it by renaming it to a name with its host and process id. A rename succeeds for one process only,
 * so no two write the same bytes and none waits. A process that finds no folder creates one. Folders of killed
 * processes are taken over the same way.
 */
export interface PartialDownload {
  readonly bytesPath: string;
  /** Bytes so far and their strong ETag; without one they cannot be resumed. */
  state(): Promise<{ size: number; etag: string | null }>;
  /** Deletes the bytes and stores the ETag of the next ones. */
  restart(etag: string | null): Promise<void>;
  /** Unlocks the folder for the next download if its bytes can be resumed, else deletes it. */
  release(): Promise<void>;
  /** Deletes this and all abandoned folders, after the bytes were moved to the target. */
  finish(): Promise<void>;
}

const stateSchema = z.object({ etag: z.string().nullable() });

/** Folders in use by this process. */
const activeFolders = new Set<string>();

/** After this time without a write, a download on another host (over a shared folder) counts as dead. */
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
      // In this order, so that the ETag never applies to other bytes.
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

/** False where the source is gone (another process took it) or the destination exists. */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, ["ENOENT", "ENOTEMPTY", "EEXIST", "EPERM"])) return false;
    throw error;
  }
}

/** Folders of the target whose process is dead. */
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

/** A missing or damaged state: the download starts over. */
async function readState(path: string): Promise<{ etag: string | null }> {
  const text = await readFile(path, "utf8").catch(() => "");
  return stateSchema.safeParse(parseJsonOrNull(text)).data ?? { etag: null };
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
