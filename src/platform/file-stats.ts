// Stats of paths that a user passed. Whatever cannot be reached is undefined, not an error.
import { type BigIntStats, lstatSync, type Stats, statSync } from "node:fs";

/**
 * Returns the stats of a path from the user, or undefined if nothing can be reached there: it is missing, below a file,
 * too long, in a circle of links or denied. Opening the path reports the reason.
 */
export function statOf(path: string): Stats | undefined {
  return undefinedOnFailure(() => statSync(path));
}

/** Like `statOf`, but does not follow a link. */
export function linkStatOf(path: string): Stats | undefined {
  return undefinedOnFailure(() => lstatSync(path));
}

/** Like `statOf`, with an inode number that is exact on every file system. */
export function exactStatOf(path: string): BigIntStats | undefined {
  return undefinedOnFailure(() => statSync(path, { bigint: true }));
}

function undefinedOnFailure<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
