import { readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Links followed to a file that does not exist yet. */
const MAX_LINKS = 40;

/** Whether two paths name one file, however they are written: relative, over symbolic links, or as hard links. */
export function isSameFile(a: string, b: string): boolean {
  return fileIdentity(a) === fileIdentity(b);
}

/** Device and inode of a file; of one that does not exist, the path where it would be made. */
function fileIdentity(path: string): string {
  const stats = statsOf(path);
  return stats === null ? resolvedPath(path, MAX_LINKS) : `${stats.dev}:${stats.ino}`;
}

/** Null where nothing is there, or what should be a folder is a file: whoever opens it says so. */
function statsOf(path: string) {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return null;
  }
}

/** What a symbolic link points to; null where none is there. */
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
