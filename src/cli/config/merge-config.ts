// Combines the config file with the flags, and explains flag errors by the line of the file.
import { join, parse } from "node:path";
import { flagName } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { splitList } from "../../platform/flag-values.js";
import { didYouMean } from "../../platform/near-names.js";
import { flagsWhere, RUN_FLAGS, type RunFlagName } from "../../runs/run-flags.js";
import type { CommandContext } from "../command.js";
import { contradiction } from "../flags/define-command.js";
import type { ConfigFile, ConfigSetting } from "./config-schema.js";
import { type OpenedConfig, openConfig } from "./find-config.js";

/** A command line combined with the config file. */
export interface ConfiguredFlags {
  /** Flags, with the config file's values for unspecified flags. */
  readonly argv: Argv;
  /** Path of the config file, or null if no file is used. */
  readonly path: string | null;
  readonly used: readonly ConfigSetting[];
  /** Name of the selected run in the file, or null if the file has no runs or none was selected. */
  readonly run: string | null;
}

interface Wanted {
  readonly run: string | null;
  /** Settings to use, or undefined for all settings of the file. */
  readonly flags?: readonly RunFlagName[] | undefined;
}

type Argv = Readonly<Record<string, unknown>>;

/** Adds the config file's lines to an error about flags that come from the file. Returns any other error unchanged. */
export function explainConfigured(error: unknown, { path, used }: ConfiguredFlags): unknown {
  if (!(error instanceof UserError)) return error;
  const causes = used.filter(({ flag }) => new RegExp(`${flagName(flag)}(?![\\w-])`).test(error.message));
  if (causes.length === 0) return error;
  const origins = causes.map(({ flag, name, line }) => `${flagName(flag)} is ${name} at ${path}:${line}.`).join(" ");
  return new UserError(error.code, error.message, `${error.hint} ${origins}`, error.exitCode, { cause: error });
}

/** Returns the run names in `--only`, in the order of the file, or all run names without the flag. */
export function namesOfRuns(only: unknown, { runs }: ConfigFile, path: string): string[] {
  const runNames = [...runs.keys()];
  if (typeof only !== "string") return runNames;
  if (runNames.length === 0) {
    throw new UserError("config_runs_missing", `--only: ${path} has no runs.`, "Add runs to it, or remove --only.");
  }
  const names = splitList(only);
  const unknown = names.find((name) => !runs.has(name));
  if (unknown === undefined && names.length > 0) return runNames.filter((name) => names.includes(name));
  throw new UserError(
    "config_run_unknown",
    unknown === undefined ? "--only: expected run names." : `--only: ${path} has no run ${unknown}.`,
    `${didYouMean(unknown ?? "", runNames)}It has ${runNames.join(", ")}.`,
  );
}

/**
 * Returns the settings for one run of the file: its own settings, and the shared settings that they do not replace. The
 * run's name is added to the names of shared output files.
 */
export function settingsOfRun(name: string, { settings, runs }: ConfigFile): ConfigSetting[] {
  const own = runs.get(name) ?? [];
  const flags = Object.fromEntries(own.map(({ flag, value }) => [flag, value]));
  const shared = mergeConfig(flags, settings).used.map((setting) =>
    RUN_FLAGS[setting.flag].writes !== undefined ? { ...setting, value: withRunName(setting.value, name) } : setting,
  );
  return [...shared, ...own];
}

/** Returns the flags for one of several runs, with the run's name added to the names of output files. */
function flagsOfRun(argv: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const outputs = flagsWhere(({ writes }) => writes !== undefined).filter((flag) => argv[flag] !== undefined);
  return { ...argv, ...Object.fromEntries(outputs.map((flag) => [flag, withRunName(argv[flag], name)])) };
}

/** Returns `results-NAME.json` for `results.json`. */
function withRunName(path: unknown, name: string): unknown {
  if (typeof path !== "string") return path;
  const { dir, name: stem, ext } = parse(path);
  return join(dir, `${stem}-${name}${ext}`);
}

/**
 * Adds the settings of a config file to the flags. The file is specified with `--config`, otherwise it is art-e.yaml in
 * the working directory or next to the database. With `--only`, the settings of that run are also added. `flags`
 * restricts the settings to those of some flags. Throws a UserError for an invalid file.
 */
export async function readConfig(
  argv: Argv,
  context: CommandContext,
  flags?: readonly RunFlagName[],
): Promise<ConfiguredFlags> {
  const config = await openConfig(argv, context);
  if (config === null) return withoutFile(argv);

  const only = argv.only === undefined ? [] : namesOfRuns(argv.only, config.file, config.path);
  if (only.length > 1) {
    throw contradiction(`--only: expected one run, not ${only.length}.`, "Pass one of them.");
  }
  return configure(argv, config, { run: only[0] ?? null, flags }, context);
}

/**
 * Like `readConfig`, for each run of the file or each run in `--only`. Returns one entry without a name if the file has
 * no runs.
 */
export async function readConfiguredRuns(argv: Argv, context: CommandContext): Promise<readonly ConfiguredFlags[]> {
  const goesOn = argv.resume !== undefined || argv.repeat !== undefined;
  const config = goesOn ? null : await openConfig(argv, context);
  if (config === null) return [await readConfig(argv, context)];

  const runs = namesOfRuns(argv.only, config.file, config.path);
  if (runs.length > 1 && argv.name !== undefined) {
    throw contradiction(
      `--name only applies to one run, but ${config.path} has ${runs.join(", ")}.`,
      "Select one with --only, or remove --name. Each run is tagged with its name in the file.",
    );
  }
  if (runs.length <= 1) return [await configure(argv, config, { run: runs[0] ?? null }, context)];
  return Promise.all(runs.map((run) => configure(flagsOfRun(argv, run), config, { run }, context)));
}

const withoutFile = (argv: Argv): ConfiguredFlags => ({ argv, path: null, used: [], run: null });

async function configure(
  argv: Argv,
  { file, path, isNamed }: OpenedConfig,
  { run, flags }: Wanted,
  { note }: CommandContext,
): Promise<ConfiguredFlags> {
  const { refuseUntrusted } = await import("./config-schema.js");
  const all = run === null ? file.settings : settingsOfRun(run, file);
  const read = flags === undefined ? all : all.filter(({ flag }) => flags.includes(flag));
  const { used, replaced } = mergeConfig(argv, read);
  if (!isNamed) refuseUntrusted(used, path);
  const whose = run === null ? "" : ` for ${run}`;
  if (used.length > 0) note(`Settings of ${path}${whose}: ${namesOf(used)}.${leftOut(replaced)}`);
  const values = Object.fromEntries(used.map(({ flag, value }) => [flag, value]));
  return { argv: { ...argv, ...values }, path, used, run };
}

const namesOf = (settings: readonly ConfigSetting[]) => settings.map(({ name }) => name).join(", ");

function leftOut(replaced: readonly ConfigSetting[]): string {
  return replaced.length === 0 ? "" : ` The command line replaces ${namesOf(replaced)}.`;
}

/** Separates the settings that still apply from those replaced by flags. */
export function mergeConfig(
  argv: Argv,
  settings: readonly ConfigSetting[],
): { readonly used: readonly ConfigSetting[]; readonly replaced: readonly ConfigSetting[] } {
  const sections = replacedSections(argv, settings);
  const ofStoredRun = argv.resume !== undefined || argv.repeat !== undefined;
  const isReplaced = ({ flag, section }: ConfigSetting) =>
    argv[flag] !== undefined ||
    sections.has(section) ||
    (argv.protocol !== undefined && isSetByProtocol(flag) && !replacedBy("protocol").includes(section)) ||
    (ofStoredRun && RUN_FLAGS[flag].isPerSession !== true);
  return {
    used: settings.filter((setting) => !isReplaced(setting)),
    replaced: settings.filter(isReplaced),
  };
}

/** Returns the sections replaced by flags. A flag with the same value as in the file replaces nothing else. */
function replacedSections(argv: Argv, settings: readonly ConfigSetting[]): ReadonlySet<string> {
  const differs = (name: string) =>
    argv[name] !== undefined && !settings.some(({ flag, value }) => flag === name && value === argv[name]);
  return new Set(
    flagsWhere(({ replaces }) => replaces !== undefined)
      .filter(differs)
      .flatMap(replacedBy),
  );
}

function replacedBy(flag: RunFlagName): readonly string[] {
  return RUN_FLAGS[flag].replaces ?? [];
}

function isSetByProtocol(flag: RunFlagName): boolean {
  return RUN_FLAGS[flag].artProtocol !== undefined;
}
