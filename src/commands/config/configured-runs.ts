import { join, parse } from "node:path";
import { UserError } from "../../domain/errors.js";
import { didYouMean } from "../../platform/nearest-names.js";
import { wordList } from "../cli/list-flags.js";
import type { RunFlags } from "../run/run-flags.js";
import { mergeConfig } from "./merge-config.js";
import type { ConfigFile, ConfigSetting } from "./parse-config.js";

/** Settings of the file that name what a run writes. */
const OUTPUTS: readonly (keyof RunFlags)[] = ["output", "record", "junit"];

/** The names of `--only`, in the order of the file; all of the file's without the flag. */
export function namesOfRuns(only: unknown, { runs }: ConfigFile, path: string): string[] {
  const known = [...runs.keys()];
  if (typeof only !== "string") return known;
  if (known.length === 0) {
    throw new UserError("config_no_runs", `--only: ${path} has no runs.`, "Write runs: into it, or leave --only out.");
  }
  const names = wordList(only);
  const unknown = names.find((name) => !runs.has(name));
  if (unknown === undefined && names.length > 0) return known.filter((name) => names.includes(name));
  throw new UserError(
    "config_no_run",
    unknown === undefined ? "--only names no run." : `--only: ${path} has no run ${unknown}.`,
    `${didYouMean(unknown ?? "", known)}It has ${known.join(", ")}.`,
  );
}

/**
 * What counts for one run of the file: what it has of its own, and of the settings of all runs what goes with that.
 * Files that all runs would write have the run's name in theirs.
 */
export function settingsOfRun(name: string, { settings, runs }: ConfigFile): ConfigSetting[] {
  const own = runs.get(name) ?? [];
  const flags = Object.fromEntries(own.map(({ flag, value }) => [flag, value]));
  const shared = mergeConfig(flags, settings).used.map((setting) =>
    OUTPUTS.includes(setting.flag) ? { ...setting, value: withRunName(setting.value, name) } : setting,
  );
  return [...shared, ...own];
}

/** The same flags for one of several runs: the files they name have the run's name in theirs. */
export function flagsOfRun(argv: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const outputs = OUTPUTS.filter((flag) => argv[flag] !== undefined);
  return { ...argv, ...Object.fromEntries(outputs.map((flag) => [flag, withRunName(argv[flag], name)])) };
}

/** `results.json` is `results-NAME.json`. */
function withRunName(path: unknown, name: string): unknown {
  if (typeof path !== "string") return path;
  const { dir, name: stem, ext } = parse(path);
  return join(dir, `${stem}-${name}${ext}`);
}
