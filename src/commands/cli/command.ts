import type { Options, PositionalOptions } from "yargs";
import type { AppContext } from "../../app/use-case-context.js";
import type { ExitCode } from "../../domain/errors.js";
import type { Interrupts } from "./interrupt.js";
import type { Output } from "./output.js";
import type { Settings } from "./settings.js";

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
