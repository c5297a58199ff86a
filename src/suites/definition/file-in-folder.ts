import { lstatSync } from "node:fs";
import { join, normalize } from "node:path";

/** What a relative path names in a folder. `outside`: it is absolute, or leaves the folder. */
export type FileState = "file" | "folder" | "missing" | "outside" | "link" | "special";

/** Looks at a path of a task, part by part: links are not followed. */
export function fileStateOf(folder: string, path: string): FileState {
  const parts = normalize(path).split("/");
  if (path.includes("\0") || path.startsWith("/") || path.startsWith("~/") || parts[0] === "..") return "outside";
  let current = folder;
  let state: FileState = "folder";
  for (const part of parts.filter((one) => one !== "" && one !== ".")) {
    if (state !== "folder") return "missing";
    current = join(current, part);
    state = stateOf(current);
  }
  return state;
}

function stateOf(path: string): FileState {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return "link";
    if (stats.isDirectory()) return "folder";
    return stats.isFile() ? "file" : "special";
  } catch {
    return "missing";
  }
}
