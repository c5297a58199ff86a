// The folder with the sockets of this user's runs.
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../platform/errors.js";
import { sha256Of } from "../../platform/sha256.js";

const FOLDER = "ctl";

/** Longest socket path in bytes that Linux and macOS accept, with some reserve (`man 7 unix`: 108; macOS: 104). */
const MAX_PATH_BYTES = 100;

/**
 * Returns the folder of the sockets of this user's runs: in the cache folder, or in /tmp if the cache folder's path is
 * too long for a socket.
 */
export function socketFolder(cacheDir: string): string {
  const folder = join(resolve(cacheDir), FOLDER);
  const isShort = Buffer.byteLength(socketPath(folder, "run")) <= MAX_PATH_BYTES;
  return isShort ? folder : `/tmp/art-e-${process.getuid?.() ?? 0}-${shortHash(resolve(cacheDir))}`;
}

/** The name is a hash, because a run id might be too long for a socket path. */
export function socketPath(folder: string, runId: string): string {
  return join(folder, `${shortHash(runId)}.sock`);
}

/**
 * Creates the folder so that only this user can use it. Throws a UserError if it belongs to someone else, who could
 * otherwise steer the run.
 */
export function createSocketFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== process.getuid?.()) {
    throw new UserError(
      "socket_folder_unsafe",
      `Cannot use ${folder}: it is not a folder of this user.`,
      "Remove it, or pass another --cache-dir.",
    );
  }
  if ((stat.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

/** Removes the folder, and the cache folder around it, unless something is in them. */
export function removeEmptySocketFolder(folder: string): void {
  const isInCache = basename(folder) === FOLDER;
  try {
    rmdirSync(folder);
    if (isInCache) rmdirSync(dirname(folder));
  } catch {
    // It has the sockets of other runs, or the cache has files.
  }
}

export function socketsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".sock"))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function shortHash(text: string): string {
  return sha256Of(text).slice(0, 16);
}
