import yargs, { type Argv } from "yargs";
import { programVersion } from "../../../app/settings/program-version.js";
import { type Command, type CommandEntry, type CommandGroup, type Flags, nameOf, type TableEntry } from "../command.js";
import { GLOBAL_FLAGS } from "../global-flags.js";
import { type CommandInUse, usageError } from "../usage-error.js";
import { commandHelp } from "./command-help.js";
import { addFlags, hideBooleans, PARSER_CONFIGURATION } from "./declare-flags.js";

/** Runs the command that was named, with its unchecked arguments. */
type Execute = (command: Command, argv: Readonly<Record<string, unknown>>) => Promise<void>;

export interface Parser {
  /** Parses the command line and executes the command that it names. */
  parse(): Promise<void>;
  /** An error of the parser in the words of the user; any other error unchanged. */
  explain(error: unknown): unknown;
}

export function buildParser(args: readonly string[], table: readonly TableEntry[], execute: Execute): Parser {
  // Builders run from the outer command to the inner one: the last one set is the command that was called.
  let inUse: CommandInUse | null = null;
  // Of a command that shows its flags in its own way.
  let ownHelp: string | null = null;
  const commands = table.map(nameOf);

  const addCommand = (parser: Argv, entry: CommandEntry, group?: CommandGroup): Argv =>
    parser.command(
      entry.usage,
      entry.describe,
      async (sub) => {
        const command = await entry.load();
        const usage = group === undefined ? entry.usage : `${nameOf(group)} ${entry.usage}`;
        inUse = { usage, parent: group, known: writtenFlags({ ...command.flags, ...GLOBAL_FLAGS }) };
        const { help, flags } = command;
        if (help !== undefined) ownHelp = commandHelp(usage, entry.describe, flags, help, helpColumns());
        return addFlags(command, sub);
      },
      async (argv) => execute(await entry.load(), argv),
    );

  const addGroup = (parser: Argv, group: CommandGroup): Argv =>
    parser.command(group.usage, group.describe, async (sub) => {
      inUse = { usage: group.usage, isGroup: true, known: group.subcommands.map(nameOf) };
      const loaded = await Promise.all(group.subcommands.map(({ load }) => load()));
      const withSubcommands = group.subcommands.reduce((rest, entry) => addCommand(rest, entry, group), sub);
      return hideBooleans(withSubcommands, loaded).demandCommand(1, `${group.usage} needs a subcommand.`);
    });

  const parser = table.reduce(
    (rest, entry) => ("load" in entry ? addCommand(rest, entry) : addGroup(rest, entry)),
    globalParser(args),
  );
  parser.fail((message, error) => {
    throw error ?? usageError(message, args, inUse, commands);
  });
  return {
    async parse() {
      let help = "";
      await parser.parseAsync([...args], {}, (_error, _argv, output) => {
        help = output;
      });
      if (help !== "") process.stdout.write(`${ownHelp === null ? help : ownHelp + globalPart(help)}\n`);
    },
    explain: (error) =>
      // A flag without its value is an exception of the parser, which `fail` does not see.
      error instanceof Error && error.name === "YError" ? usageError(error.message, args, inUse, commands) : error,
  };
}

function writtenFlags(flags: Flags): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

/** What every help ends with. */
function globalPart(help: string): string {
  return `\n${help.slice(help.indexOf("\nGlobal:"))}`;
}

function helpColumns(): number {
  return Math.min(120, process.stdout.columns ?? 120);
}

function globalParser(args: readonly string[]): Argv {
  const flags = Object.entries(GLOBAL_FLAGS).map(([name, options]) => [name, { ...options, global: true }]);
  return yargs([...args])
    .scriptName("art-e")
    .usage(
      "$0 <command>\n\nRuns the ART-E benchmark: how well an agent answers a person's questions from that person's mailbox.",
    )
    .options(Object.fromEntries(flags))
    .updateStrings({ "Options:": "Global:" })
    .parserConfiguration(PARSER_CONFIGURATION)
    .strict()
    .demandCommand(1, "No command is given.")
    .help("help")
    .alias("help", "h")
    .version(programVersion())
    .wrap(helpColumns())
    .exitProcess(false)
    .showHelpOnFail(false)
    .epilogue(
      "Exit codes: 0 done, 1 failed, 2 wrong usage or unusable input, 3 a gate missed (or more than half of the tasks failed), 130 interrupted.",
    );
}
