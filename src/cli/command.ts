import { realpathSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Options, PositionalOptions } from "yargs";
import type { AppContext } from "../platform/app-context.js";
import { shellWord } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { type ExitCode, UserError } from "../platform/errors.js";
import { programFile } from "../platform/installation.js";
import { DEFAULT_CACHE_DIR, DEFAULT_DB, type Interrupts, type Output, type Settings } from "./terminal.js";

/** The flags that every command takes. */
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
  quiet: { type: "boolean", describe: "Print no progress and no notes" },
  "no-progress": { type: "boolean", describe: "Print no progress" },
  verbose: { type: "boolean", describe: "Print errors with their stack" },
};

/** The scripts of `art-e completion` call the program with this, and the words typed so far. */
export const COMPLETE = "--complete-words";

/** The executable of this installation. */
export const PROGRAM = fileURLToPath(programFile("bin/art-e.js"));

/**
 * How this installation is called from a shell: `art-e` if it is on the PATH, otherwise by its file, whose path is
 * relative if it is below the working directory. Never `npx art-e`, which outside of a checkout asks the registry for a
 * package of that name, which is not this one.
 */
export function programCall(env: Environment): string {
  const isOnPath = (env.PATH ?? "").split(delimiter).some((folder) => isProgram(join(folder, "art-e")));
  const nearby = relative(process.cwd(), PROGRAM);
  return isOnPath ? "art-e" : `node ${shellWord(nearby.startsWith("..") ? PROGRAM : nearby)}`;
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

export interface Flag extends Options {
  /** The word for the value in help, such as FILE. */
  readonly placeholder?: string;
}

/** Flags by name. The command's schema sets the defaults; descriptions only state them. */
export type Flags = Readonly<Record<string, Flag>>;

/** The value of a repeated flag that takes one: the last, so that a command line can be extended to override it. */
export function lastRepeated(values: unknown): unknown {
  return Array.isArray(values) ? values.at(-1) : values;
}

/** Names of flags by the title of their group. */
export type FlagGroups = Readonly<Record<string, readonly string[]>>;

/** One command: its flags, and a function that takes them unchecked. */
export interface Command {
  readonly positionals?: Readonly<Record<string, PositionalOptions>>;
  readonly flags: Flags;
  /** For a command with many flags. */
  readonly flagGroups?: FlagGroups;
  run(argv: Readonly<Record<string, unknown>>, context: CommandContext): Promise<ExitCode>;
}

/** What the file of a command exports: the command, once it is told its usage in the command table. */
export type CommandDefinition = (usage: string) => Command;

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
