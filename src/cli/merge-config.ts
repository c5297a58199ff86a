import { join, parse } from "node:path";
import { didYouMean, flagName } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { CommandContext } from "./command.js";
import type { RunFlags } from "./commands/run-flags.js";
import type { ConfigFile, ConfigSetting, SectionName } from "./config-schema.js";
import { type OpenedConfig, openConfig } from "./find-config.js";
import { contradiction, wordList } from "./read-flags.js";

/** An error about flags that were not typed, with where in the file they stand; any other error unchanged. */
export function explainConfigured(error: unknown, { path, used }: ConfiguredFlags): unknown {
  if (!(error instanceof UserError)) return error;
  const meant = used.filter(({ flag }) => new RegExp(`${flagName(flag)}(?![\\w-])`).test(error.message));
  if (meant.length === 0) return error;
  const origins = meant.map(({ flag, name, line }) => `${flagName(flag)} is ${name} at ${path}:${line}.`).join(" ");
  return new UserError(error.code, error.message, `${error.hint} ${origins}`, error.exitCode, { cause: error });
}

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
function flagsOfRun(argv: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const outputs = OUTPUTS.filter((flag) => argv[flag] !== undefined);
  return { ...argv, ...Object.fromEntries(outputs.map((flag) => [flag, withRunName(argv[flag], name)])) };
}

/** `results.json` is `results-NAME.json`. */
function withRunName(path: unknown, name: string): unknown {
  if (typeof path !== "string") return path;
  const { dir, name: stem, ext } = parse(path);
  return join(dir, `${stem}-${name}${ext}`);
}

/** A command line together with the config file. */
export interface ConfiguredFlags {
  /** The flags, and the file's values for those that were not given. */
  readonly argv: Argv;
  /** Null: there is no file. */
  readonly path: string | null;
  readonly used: readonly ConfigSetting[];
  /** Which of the file's runs it is; null: the file names none, or none was asked for. */
  readonly run: string | null;
}

/** A section, or one setting of it: `run.scorers`. */
type ConfigName = SectionName | `${SectionName}.${string}`;

/**
 * Adds the settings of a config file to the flags: of the one that `--config` names, else of art-e.yaml in the working
 * folder or beside the database; with `--only`, those of that run too. `names`: what the command reads of it. Throws a
 * UserError for a file that is wrong.
 */
export async function readConfig(
  argv: Argv,
  context: CommandContext,
  names?: readonly ConfigName[],
): Promise<ConfiguredFlags> {
  const opened = await openConfig(argv, context);
  if (opened === null) return withoutFile(argv);

  const only = argv.only === undefined ? [] : namesOfRuns(argv.only, opened.file, opened.path);
  if (only.length > 1) {
    throw contradiction(`--only names ${only.length} runs.`, "Name one of them here.");
  }
  return configure(argv, opened, { run: only[0] ?? null, names }, context);
}

/** The same for every run of the file, or for those of `--only`; one without a name where the file has no runs. */
export async function readConfiguredRuns(argv: Argv, context: CommandContext): Promise<readonly ConfiguredFlags[]> {
  const goesOn = argv.resume !== undefined || argv.repeat !== undefined;
  const opened = goesOn ? null : await openConfig(argv, context);
  if (opened === null) return [await readConfig(argv, context)];

  const runs = namesOfRuns(argv.only, opened.file, opened.path);
  if (runs.length > 1 && argv.name !== undefined) {
    throw contradiction(
      `--name is for one run, and ${opened.path} has ${runs.join(", ")}.`,
      "Name one with --only, or leave --name out: each run has its name in the file as a tag.",
    );
  }
  if (runs.length <= 1) return [await configure(argv, opened, { run: runs[0] ?? null }, context)];
  return Promise.all(runs.map((run) => configure(flagsOfRun(argv, run), opened, { run }, context)));
}

const withoutFile = (argv: Argv): ConfiguredFlags => ({ argv, path: null, used: [], run: null });

interface Wanted {
  readonly run: string | null;
  /** Undefined: all that the file has. */
  readonly names?: readonly ConfigName[] | undefined;
}

async function configure(
  argv: Argv,
  { file, path, isNamed }: OpenedConfig,
  { run, names }: Wanted,
  { note }: CommandContext,
): Promise<ConfiguredFlags> {
  const { refuseUntrusted } = await import("./config-schema.js");
  const all = run === null ? file.settings : settingsOfRun(run, file);
  const isRead = ({ section, key }: ConfigSetting) =>
    names === undefined || names.some((name) => name === section || name === `${section}.${key}`);
  const { used, replaced } = mergeConfig(argv, all.filter(isRead));
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

type Argv = Readonly<Record<string, unknown>>;

/** Flags that name something else than the file does, with the sections of the file that are about it. */
const REPLACES: readonly (readonly [flags: readonly (keyof RunFlags)[], sections: readonly SectionName[]])[] = [
  [
    ["agent", "agentCommand", "agentUrl", "apiUrl"],
    ["agent", "model"],
  ],
  [["modelId", "modelProvider"], ["model"]],
  [
    ["suite", "dataset", "useJson", "revision"],
    ["dataset", "suite"],
  ],
  [["judge", "noJudge"], ["judge"]],
  [["protocol"], ["agent", "judge"]],
];

/** What --protocol sets, beside the agent and the judge. */
const OF_PROTOCOL: readonly (keyof RunFlags)[] = ["split", "limit", "maxSources", "excludeKnownBad", "cutoff"];

/** What a stored run does not keep, and so comes from the file with --resume and --repeat too. */
const NOT_STORED = {
  sections: ["gates", "traces"] satisfies SectionName[] as readonly string[],
  flags: ["concurrency", "rpm", "tpm", "requestTimeout", "cache"] satisfies (keyof RunFlags)[] as readonly string[],
};

/** The settings of the file that count beside these flags, and those that the flags replace. */
export function mergeConfig(
  argv: Argv,
  settings: readonly ConfigSetting[],
): { readonly used: readonly ConfigSetting[]; readonly replaced: readonly ConfigSetting[] } {
  const sections = replacedSections(argv, settings);
  const ofStoredRun = argv.resume !== undefined || argv.repeat !== undefined;
  const isReplaced = ({ flag, section }: ConfigSetting) =>
    argv[flag] !== undefined ||
    sections.has(section) ||
    (argv.protocol !== undefined && OF_PROTOCOL.includes(flag)) ||
    (ofStoredRun && !NOT_STORED.sections.includes(section) && !NOT_STORED.flags.includes(flag));
  return {
    used: settings.filter((setting) => !isReplaced(setting)),
    replaced: settings.filter(isReplaced),
  };
}

/** A flag that says what the file says too replaces nothing else. */
function replacedSections(argv: Argv, settings: readonly ConfigSetting[]): ReadonlySet<string> {
  const differs = (name: string) =>
    argv[name] !== undefined && !settings.some(({ flag, value }) => flag === name && value === argv[name]);
  return new Set(REPLACES.flatMap(([flags, sections]) => (flags.some(differs) ? sections : [])));
}
