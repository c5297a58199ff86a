// Finds the suite folder of a stored run, which might have been moved. The database contains the tasks, but their
// input, setup and gold files are only in the folder.
import { dirname, join, relative, resolve, sep } from "node:path";
import type { AppContext } from "../../platform/app-context.js";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import type { Db } from "../../store/open-store.js";
import { suiteDifferences } from "../../suites/suite-content.js";
import { openSuiteFolder, type SuiteFolder } from "../../suites/suite-folder.js";
import { suiteTasksOf } from "../../traces/results-store.js";
import type { ExecutedRunSettings } from "../../traces/run-settings.js";
import type { RunRow } from "../../traces/runs-store.js";

/** A stored run that art-e can continue or repeat. */
export interface ExecutedRun extends RunRow {
  readonly settings: ExecutedRunSettings;
}

export interface LocatedSuite {
  /** The run with its source, and the paths in its settings that moved with it, changed to this folder. */
  readonly run: ExecutedRun;
  /**
   * Descriptions of how the folder differs from the suite that the run was created with. Empty if the content is the
   * same.
   */
  readonly changes: readonly string[];
}

/**
 * Opens the folder given with `--suite`, otherwise the recorded one. If that is gone, searches the working directory
 * and the database's directory for the end of the recorded path, and uses the first suite with the same content.
 * @param requestedPath folder given with `--suite`
 * @throws UserError if no such folder exists
 */
export async function locateSuite(
  db: Db,
  run: ExecutedRun,
  requestedPath: string | undefined,
  { settings, signal, note }: AppContext,
): Promise<LocatedSuite> {
  const { source, sha256 } = run.dataset;
  const stored = { sha256, tasks: suiteTasksOf(db, run.id) };
  const located = requestedPath === undefined ? openOrNull(source) : openSuiteFolder(requestedPath);
  if (located !== null) {
    return { run: movedTo(located.root, run), changes: await suiteDifferences(stored, located, signal) };
  }
  for (const path of movedPaths(source, [process.cwd(), dirname(resolve(settings.db))])) {
    const candidate = openOrNull(path);
    if (candidate === null || (await suiteDifferences(stored, candidate, signal)).length > 0) continue;
    note(`The suite is no longer in ${source}. Using ${candidate.root}, which has the same tasks and files.`);
    return { run: movedTo(candidate.root, run), changes: [] };
  }
  throw new UserError(
    "suite_missing",
    `Cannot continue run ${run.id}: its suite is no longer in ${source}.`,
    `Pass the suite's folder: ${commandLine`art-e run --resume ${run.id} --suite DIR`}`,
  );
}

function openOrNull(path: string): SuiteFolder | null {
  try {
    return openSuiteFolder(path);
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

/** Yields the ends of a path below each folder, longest first. */
function* movedPaths(path: string, folders: readonly string[]): Generator<string> {
  const parts = path.split(sep).filter((part) => part !== "");
  for (let from = 0; from < parts.length; from++) {
    for (const folder of folders) yield join(folder, ...parts.slice(from));
  }
}

/**
 * Returns the run at its new root. An oracle file or function module in the same checkout moved together with the
 * suite.
 */
function movedTo(root: string, run: ExecutedRun): ExecutedRun {
  const before = run.dataset.source;
  if (root === before) return run;
  const { functions } = run.settings;
  const moved = {
    ...run.settings,
    ...(functions === undefined ? {} : { functions: movedPath(functions, before, root) }),
  };
  const settings =
    moved.kind === "own" && moved.oracle !== undefined
      ? { ...moved, oracle: movedPath(moved.oracle, before, root) }
      : moved;
  return { ...run, settings, dataset: { ...run.dataset, source: root } };
}

/**
 * Returns the location of a path after `before` became `after`. The path is unchanged if it is outside the moved
 * folder.
 */
function movedPath(path: string, before: string, after: string): string {
  const [from, to] = checkoutsOf(before, after);
  const inside = relative(from, path);
  return inside === ".." || inside.startsWith(`..${sep}`) ? path : join(to, inside);
}

/** Returns the folders that contain the two paths, without the end that both paths share. */
function checkoutsOf(before: string, after: string): readonly [string, string] {
  const [a, b] = [before.split(sep), after.split(sep)];
  while (a.length > 1 && b.length > 1 && a.at(-1) === b.at(-1)) {
    a.pop();
    b.pop();
  }
  return [a.join(sep) || sep, b.join(sep) || sep];
}
