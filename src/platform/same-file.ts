import { readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Symbolic links followed to a file that does not exist yet. */
const MAX_LINKS = 40;

/** Whether two paths name one file, also by relative paths, symbolic links or hard links. */
export function isSameFile(a: string, b: string): boolean {
  return fileIdentity(a) === fileIdentity(b);
}

/** Device and inode; of a file that does not exist, its resolved path. */
function fileIdentity(path: string): string {
  const stats = statsOf(path);
  return stats === null ? resolvedPath(path, MAX_LINKS) : `${stats.dev}:${stats.ino}`;
}

/** Null where the file is missing or a parent is not a folder: opening it reports that. */
function statsOf(path: string) {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return null;
  }
}

/** Null where the path is not a symbolic link. */
function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function resolvedPath(path: string, links: number): string {
  const linked = links > 0 ? linkTarget(path) : null;
  if (linked !== null) return resolvedPath(resolve(dirname(path), linked), links - 1);
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return resolve(path);
  }
}
