import { join } from "node:path";
import type { SuiteTask } from "../../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { fileStateOf } from "../../../suites/definition/file-in-folder.js";
import type { OracleLine } from "./read-oracle.js";

export interface Placed {
  /** Files that are not there: what was left out of a suite may not matter to the grade. */
  readonly missing: readonly string[];
  /** Why nothing is graded; null: it is. */
  readonly refused: string | null;
}

/** Copies a line's files in, but for those that it removes. */
export async function placeFiles(
  { files, derived, remove }: OracleLine,
  task: SuiteTask,
  derivedFolder: string,
  machine: TaskMachine,
): Promise<Placed> {
  const sources = [
    ...Object.entries(files).map(([path, file]) => ({ path, file, folder: task.folder })),
    ...Object.entries(derived).map(([path, file]) => ({ path, file, folder: derivedFolder })),
  ].filter(({ path }) => !remove.some((removed) => path === removed || path.startsWith(`${removed}/`)));
  const missing: string[] = [];
  for (const { path, file, folder } of sources) {
    const found = fileStateOf(folder, file);
    if (found === "file") await machine.copyIn(join(folder, file), path);
    else if (found === "missing") missing.push(file);
    else return { missing, refused: `${file} cannot be put in place: ${REFUSALS[found]}` };
  }
  return { missing, refused: null };
}

const REFUSALS = {
  outside: "it is outside of its folder",
  link: "it leads over a link, which is not followed",
  folder: "it is a folder",
  special: "it is no regular file",
} as const;
