// What a command is to the parser: usage, arguments, flags, and a function to run.
import { realpathSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Options, PositionalOptions } from "yargs";
import type { z } from "zod";
import { type AppContext, DEFAULT_CACHE_DIR, DEFAULT_DB } from "../platform/app-context.js";
import { shellWord } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { type ExitCode, UserError } from "../platform/errors.js";
import type { NameKind } from "../platform/flag-values.js";
import { programFile } from "../platform/program-files.js";
import type { Interrupts } from "./interrupts.js";
import type { Settings } from "./settings.js";
import type { Output } from "./terminal.js";

/** Everything a command receives in addition to its flags. */
export interface CommandContext extends AppContext, Interrupts {
  readonly settings: Settings;
  readonly out: Output;
}

export interface Flag extends Options {
  /** Placeholder for the value in help, such as FILE. */
  readonly placeholder?: string;
  /** Names that complete the value. */
  readonly completes?: NameKind;
  /** Fixed values that complete the value. The schema checks them. */
  readonly offered?: readonly string[];
  /** Schema of the value. Global flags have none. */
  readonly schema?: z.ZodType;
}

export interface Argument extends PositionalOptions {
  /** Names that complete the value. */
  readonly completes?: NameKind;
  /** Fixed values that complete the value. The schema checks them. */
  readonly offered?: readonly string[];
}

/** Flags by name. The command's schema sets the defaults, and descriptions only mention them. */
export type Flags = Readonly<Record<string, Flag>>;

/** Flag names by group title. */
type FlagGroups = Readonly<Record<string, readonly string[]>>;

/** A command with its flags. `run` receives the flags unchecked. */
export interface Command {
  readonly positionals?: Readonly<Record<string, Argument>>;
  readonly flags: Flags;
  /** Only for commands with many flags. */
  readonly flagGroups?: FlagGroups;
  /** Flags in `--help`, if `--help all` has more. */
  readonly commonFlags?: readonly string[];
  run(argv: Readonly<Record<string, unknown>>, context: CommandContext): Promise<ExitCode>;
}

/** Export of a command's file. It receives the usage from the command table and returns the command. */
export type CommandDefinition = (usage: string) => Command;

interface Named {
  /** Usage in yargs syntax: the name, then `<required>`, `[optional]` and `[many..]` arguments. */
  readonly usage: string;
  readonly describe: string;
}

/** A command that is loaded when it is called, so that its imports do not slow down other commands. */
export interface CommandEntry extends Named {
  readonly load: () => Promise<Command>;
}

/** A command with subcommands, such as `agents create`. */
export interface CommandGroup extends Named {
  readonly subcommands: readonly CommandEntry[];
}

export type TableEntry = CommandEntry | CommandGroup;

/** Commands for one purpose. */
export interface CommandSection {
  readonly title: string;
  readonly common: readonly TableEntry[];
  /** Commands that only `--help all` lists. */
  readonly rare: readonly TableEntry[];
}

export const GLOBAL_FLAGS: Flags = {
  db: {
    type: "string",
    requiresArg: true,
    placeholder: "FILE",
    describe: `Database file [ART_E_DB, art-e.yaml, default: ${DEFAULT_DB}]`,
  },
  "cache-dir": {
    type: "string",
    requiresArg: true,
    placeholder: "FOLDER",
    describe: `Folder for downloads [ART_E_CACHE_DIR, default: ${DEFAULT_CACHE_DIR}]`,
  },
  json: { type: "boolean", describe: "Print results as JSON, and nothing else, on stdout" },
  quiet: { type: "boolean", describe: "Print no progress, no notes and no summary of an import" },
  "no-progress": { type: "boolean", describe: "Print no progress" },
  verbose: { type: "boolean", describe: "Print more details, and errors with their stack" },
};

/** The scripts of `art-e completion` call the program with this internal flag, followed by the words typed so far. */
export const COMPLETE = "--complete-words";

/** Path of this installation's executable. */
export const PROGRAM = fileURLToPath(programFile("bin/art-e.js"));

/**
 * Returns how to call this installation from a shell: `art-e` if it is on the PATH, `npx art-e` if it is installed in
 * the project of the working directory, otherwise `node` with the path of its file, which is relative if the file is
 * below the working directory. Elsewhere, npx would look in the registry for a package named art-e.
 */
export function programCall(env: Environment): string {
  // npm and npx add the `node_modules/.bin` folders to the PATH, but only for the programs that they start.
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => !folder.endsWith(NPM_PROGRAMS));
  if (folders.some((folder) => isProgram(join(folder, "art-e")))) return "art-e";
  const isInProject = parentsOf(process.cwd()).some((folder) => isProgram(join(folder, NPM_PROGRAMS, "art-e")));
  if (isInProject) return "npx art-e";
  const nearby = relative(process.cwd(), PROGRAM);
  return `node ${shellWord(nearby.startsWith("..") ? PROGRAM : nearby)}`;
}

const NPM_PROGRAMS = join("node_modules", ".bin");

/** Returns the folder and all folders that it is in. */
function parentsOf(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...parentsOf(parent)];
}

function isProgram(path: string): boolean {
  try {
    return realpathSync(path) === PROGRAM;
  } catch {
    return false;
  }
}

/** Returns the token if it is hard to guess and valid in a header, otherwise throws a UserError. */
export function checkToken(token: string): string {
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new UserError(
    "token_unusable",
    "Invalid token: expected at least 16 characters without white space.",
    "Create a token: openssl rand -hex 24.",
  );
}

/** Returns the last value of a repeated single-value flag, so that appending a flag to a command line overrides it. */
export function lastRepeated(values: unknown): unknown {
  return Array.isArray(values) ? values.at(-1) : values;
}

/** Returns the usage without the arguments, such as `agents clone` for `agents clone <id> <new_id>`. */
export function pathOf(usage: string): string {
  return usage.replace(/ [<[].*$/, "");
}

/** Returns the flags as typed. */
export function writtenFlags(flags: Flags): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

/** Returns the first word of the usage, which is the name of the command. */
export function nameOf({ usage }: TableEntry): string {
  return usage.split(" ")[0] ?? "";
}
