import { UserError } from "../../domain/errors.js";
import type { CommandContext } from "../cli/command.js";
import type { SectionName } from "./config-sections.js";
import { type OpenedConfig, openConfig } from "./open-config.js";
import type { ConfigSetting } from "./parse-config.js";

type Argv = Readonly<Record<string, unknown>>;

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
export type ConfigName = SectionName | `${SectionName}.${string}`;

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
  const { namesOfRuns } = await import("./configured-runs.js");
  const only = argv.only === undefined ? [] : namesOfRuns(argv.only, opened.file, opened.path);
  if (only.length > 1) {
    throw new UserError("flags_contradict", `--only names ${only.length} runs.`, "Name one of them here.");
  }
  return configure(argv, opened, { run: only[0] ?? null, names }, context);
}

/** The same for every run of the file, or for those of `--only`; one without a name where the file has no runs. */
export async function readConfiguredRuns(argv: Argv, context: CommandContext): Promise<readonly ConfiguredFlags[]> {
  const goesOn = argv.resume !== undefined || argv.repeat !== undefined;
  const opened = goesOn ? null : await openConfig(argv, context);
  if (opened === null) return [await readConfig(argv, context)];
  const { flagsOfRun, namesOfRuns } = await import("./configured-runs.js");
  const runs = namesOfRuns(argv.only, opened.file, opened.path);
  if (runs.length > 1 && argv.name !== undefined) {
    throw new UserError(
      "flags_contradict",
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
  const [{ settingsOfRun }, { mergeConfig }, { refuseUntrusted }] = await Promise.all([
    import("./configured-runs.js"),
    import("./merge-config.js"),
    import("./refuse-untrusted.js"),
  ]);
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
