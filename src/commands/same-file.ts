import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Links followed to a file that does not exist yet. */
const MAX_LINKS = 40;

/** Whether two paths name one file, however they are written: relative, over symbolic links, or as hard links. */
export function isSameFile(a: string, b: string): boolean {
  return identity(a) === identity(b);
}

/** Device and inode of a file; of one that does not exist, the path where it would be made. */
function identity(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? target(path, MAX_LINKS) : `${stats.dev}:${stats.ino}`;
}

function target(path: string, links: number): string {
  if (links > 0 && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return target(resolve(dirname(path), readlinkSync(path)), links - 1);
  }
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return resolve(path);
  }
}
