import { lstatSync, type Stats, statSync } from "node:fs";

/**
 * Stats of a path that the user named, or undefined if nothing can be reached there: it is missing, below a file, too
 * long, in a circle of links or denied. Opening the path reports why.
 */
export function statOf(path: string): Stats | undefined {
  return undefinedOnFailure(() => statSync(path));
}

/** Like `statOf`, for the link itself if the path is one. */
export function linkStatOf(path: string): Stats | undefined {
  return undefinedOnFailure(() => lstatSync(path));
}

function undefinedOnFailure(look: () => Stats): Stats | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
