import { lstatSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { UserError } from "../../domain/errors.js";

/** A folder of tasks. Absolute paths. */
export interface SuiteFolder {
  /** The name of its root folder. */
  readonly name: string;
  /** Paths of Spider2-V's files are relative to it, as they begin with `evaluation_examples/`. */
  readonly root: string;
  /** Holds `examples/`, `settings/` and the index files: the root, or `evaluation_examples/` in it. */
  readonly content: string;
}

/** The folder that Spider2-V keeps its tasks in. */
export const SPIDER_CONTENT = "evaluation_examples";

export function openSuiteFolder(path: string): SuiteFolder {
  const folder = resolve(path);
  // The suite itself may be a link; what is in it may not.
  const inside = join(folder, SPIDER_CONTENT);
  const candidates = [
    ...(isFolder(folder, statSync) ? [folder] : []),
    ...(isFolder(inside, lstatSync) ? [inside] : []),
  ];
  const content = candidates.find((candidate) => isFolder(join(candidate, "examples"), lstatSync));
  if (content === undefined) {
    throw new UserError(
      "suite_missing",
      `${path} is no task suite: it has no folder examples/.`,
      "Name the folder that holds examples/<tool>/<id>/<id>.json.",
    );
  }
  const root = basename(content) === SPIDER_CONTENT ? dirname(content) : content;
  return { name: basename(root), root, content };
}

/** A path as findings name it. */
export function pathInSuite(suite: SuiteFolder, path: string): string {
  return relative(suite.root, path);
}

function isFolder(path: string, look: typeof statSync | typeof lstatSync): boolean {
  return look(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
