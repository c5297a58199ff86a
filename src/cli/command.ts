import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Options, PositionalOptions } from "yargs";
import { shellWord } from "../platform/command-line.js";
import type { AppContext } from "../platform/context.js";
import type { Environment } from "../platform/environment.js";
import { type ExitCode, UserError } from "../platform/errors.js";
import { DEFAULT_CACHE_DIR, DEFAULT_DB, type Interrupts, type Output, type Settings } from "./terminal.js";

/** The flags that every command takes. */
export const GLOBAL_FLAGS: Flags = {
  db: { type: "string", requiresArg: true, describe: `The database [ART_E_DB, art-e.yaml, default: ${DEFAULT_DB}]` },
  "cache-dir": {
    type: "string",
    requiresArg: true,
    describe: `For downloads [ART_E_CACHE_DIR, default: ${DEFAULT_CACHE_DIR}]`,
  },
  json: { type: "boolean", describe: "Results as JSON on stdout, and nothing else there" },
  quiet: { type: "boolean", describe: "No progress and no notes" },
  "no-progress": { type: "boolean", describe: "No progress" },
  verbose: { type: "boolean", describe: "Errors with their stack" },
};

/** The scripts of `art-e completion` call the program with this, and the words typed so far. */
export const COMPLETE = "--complete-words";

/** What stands in the place of a value, by what it names. */
interface KnownValues {
  agents(): readonly string[];
  runs(): readonly string[];
}

/** Flags and arguments that name an agent or a run. */
const VALUES: Readonly<Record<string, keyof KnownValues>> = {
  agent: "agents",
  run: "runs",
  runs: "runs",
  resume: "runs",
  repeat: "runs",
  replay: "runs",
  baseline: "runs",
};

/**
 * What the last of `words` may become: commands, flags, ids. `words` are those after the program's name; the last one
 * is being typed and may be empty. Nothing where any word will do, so that the shell offers files.
 */
export async function completeWords(
  words: readonly string[],
  table: readonly TableEntry[],
  globalFlags: Flags,
  values: KnownValues,
): Promise<string[]> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const found = await candidates(before, current, table, globalFlags, values);
  return found.filter((candidate) => candidate.startsWith(current)).sort();
}

async function candidates(
  before: readonly string[],
  current: string,
  table: readonly TableEntry[],
  globalFlags: Flags,
  values: KnownValues,
): Promise<readonly string[]> {
  const path = findEntry(positionalWords(before, globalFlags), table);
  const entry = path.at(-1);
  if (entry === undefined) return current.startsWith("-") ? written(globalFlags) : table.map(nameOf);
  if (!("load" in entry)) return entry.subcommands.map(nameOf);
  const command = await entry.load();
  const flags = { ...command.flags, ...globalFlags };
  const flag = findFlag(before.at(-1) ?? "", flags);
  if (flag !== undefined && flags[flag]?.type !== "boolean") return valuesOf(flag, values);
  if (current.startsWith("-")) return written(flags).filter((name) => !before.includes(name));
  const given = positionalWords(before, flags).slice(path.length);
  return positionalValues(command, nameOf(path[0] ?? entry), given.length, values);
}

/** Without flags and their values. */
function positionalWords(words: readonly string[], flags: Flags): string[] {
  return words.filter((word, i) => {
    const flag = findFlag(words[i - 1] ?? "", flags);
    return !word.startsWith("-") && (flag === undefined || flags[flag]?.type === "boolean");
  });
}

/** The entries that the words name, as far as they go: a command, or a group and its subcommand. */
function findEntry([first, second]: readonly string[], table: readonly TableEntry[]): TableEntry[] {
  const entry = table.find((each) => nameOf(each) === first);
  if (entry === undefined) return [];
  const sub = "load" in entry ? undefined : entry.subcommands.find((each) => nameOf(each) === second);
  return sub === undefined ? [entry] : [entry, sub];
}

/** The name of a flag, by its name or its alias; undefined: the word is none. */
function findFlag(word: string, flags: Flags): string | undefined {
  if (!word.startsWith("-")) return undefined;
  const name = word.replace(/^--?/, "");
  return Object.keys(flags).find((each) => each === name || flags[each]?.alias === name);
}

function written(flags: Flags): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

function valuesOf(name: string, values: KnownValues): readonly string[] {
  const kind = VALUES[name];
  return kind === undefined ? [] : values[kind]();
}

/** The id of an agent is called `id` in the group of agents. */
function positionalValues(
  { positionals = {} }: Command,
  group: string,
  given: number,
  values: KnownValues,
): readonly string[] {
  const [name = ""] = Object.keys(positionals);
  if (given > 0 && positionals[name]?.array !== true) return [];
  return name === "id" && group === "agents" ? values.agents() : valuesOf(name, values);
}

/** The executable of this installation. */
export const PROGRAM = fileURLToPath(new URL("../../bin/art-e.js", import.meta.url));

/**
 * How this installation is called from a shell: `art-e` where the path leads to it, else by its absolute path. Never
 * `npx art-e`, which outside of a checkout asks the registry for a package of that name, which is not this one.
 */
export function programCall(env: Environment): string {
  const isOnPath = (env.PATH ?? "").split(delimiter).some((folder) => isProgram(join(folder, "art-e")));
  return isOnPath ? "art-e" : `node ${shellWord(PROGRAM)}`;
}

function isProgram(path: string): boolean {
  try {
    return realpathSync(path) === PROGRAM;
  } catch {
    return false;
  }
}

/** A bearer token that others cannot guess and that a header can hold. */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new UserError(
    "token_unusable",
    "The token cannot be used: expected at least 16 characters without white space.",
    "Make one: openssl rand -hex 24.",
  );
}

/** What a command gets besides its flags. */
export interface CommandContext extends AppContext, Interrupts {
  readonly settings: Settings;
  readonly out: Output;
}

/** Flags by name, as yargs takes them. The command's schema sets the defaults; descriptions only state them. */
export type Flags = Readonly<Record<string, Options>>;

/** How the flags of a command with many of them are shown. What is not named is shown as that of any command. */
export interface CommandHelp {
  /** Command lines, each with what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  /** Names of flags by the title of their group. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** What stands for the value of a flag: FILE. */
  readonly placeholders: Readonly<Record<string, string>>;
}

/** One command: its flags, and a function that takes them unchecked. Its name and usage are in the command table. */
export interface Command {
  readonly positionals?: Readonly<Record<string, PositionalOptions & Pick<Options, "defaultDescription">>>;
  readonly flags: Flags;
  readonly help?: CommandHelp;
  run(argv: Readonly<Record<string, unknown>>, context: CommandContext): Promise<ExitCode>;
}

interface Named {
  /** As yargs takes it: the name, then `<required>`, `[optional]` and `[many..]` arguments. */
  readonly usage: string;
  readonly describe: string;
}

/** Loaded when it is called, so that the imports of one command do not slow the start of the others. */
export interface CommandEntry extends Named {
  readonly load: () => Promise<Command>;
}

/** A command with subcommands, such as `agents create`. */
export interface CommandGroup extends Named {
  readonly subcommands: readonly CommandEntry[];
}

export type TableEntry = CommandEntry | CommandGroup;

/** The word a command is called by. */
export function nameOf({ usage }: TableEntry): string {
  return usage.split(" ")[0] ?? "";
}
