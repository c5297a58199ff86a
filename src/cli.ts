// The entry point of the program: runs one command line, and prints errors and sets the exit code only here.
import { existsSync } from "node:fs";
import { COMPLETE, nameOf, programCall } from "./cli/command.js";
import { COMMAND_SECTIONS, COMMANDS } from "./cli/command-table.js";
import { configuredDatabase } from "./cli/config/find-config.js";
import { listenForInterrupt } from "./cli/interrupts.js";
import { buildParser, formatError, refuseEmptyValues } from "./cli/parser.js";
import { openProgressLater, writeAboveBar } from "./cli/progress.js";
import { readSettings } from "./cli/settings.js";
import { handleOutputErrors, openOutput, openPerson, showDamagedRows } from "./cli/terminal.js";
import { Interrupted } from "./platform/app-context.js";
import { showDatabase, showProgram } from "./platform/command-line.js";
import { stripControls } from "./platform/control-characters.js";
import { notesOnEnvFile, readEnvironment } from "./platform/environment.js";
import { EXIT, type ExitCode, UserError } from "./platform/errors.js";
import { missingPackage } from "./platform/optional-packages.js";
import { databaseError } from "./store/database-error.js";

/** Runs one command line and returns the exit code. Errors are caught and printed only here. */
export async function main(words: readonly string[]): Promise<ExitCode> {
  handleOutputErrors((error) => printError(error, words));
  showProgram(() => programCall(process.env));
  if (words[0] === COMPLETE) {
    const { complete } = await import("./cli/commands/completion.js");
    return complete(words.slice(1), COMMANDS);
  }
  const args = withHelpFlag(words);
  let code: ExitCode = EXIT.done;
  let closeInterrupts = () => {};
  const parser = buildParser(args, COMMAND_SECTIONS, async ({ run }, argv) => {
    const env = readEnvironment();
    const settings = readSettings(argv, env, await configuredDatabase(argv, env));
    const unnamed = readSettings({}, {}, await configuredDatabase({}, {}));
    showDatabase(settings.db === unnamed.db ? null : settings.db);
    showDamagedRows();
    const interrupts = listenForInterrupt();
    closeInterrupts = () => interrupts.close();
    try {
      const out = openOutput(settings);
      for (const line of notesOnEnvFile(env)) out.note(line);
      const progress = (title: string) => openProgressLater(settings, title);
      code = await run(argv, { settings, out, note: out.note, progress, openPerson, ...interrupts });
    } catch (error) {
      throw databaseError(error, settings.db) ?? missingPackage(error) ?? (await explainByDamage(error, settings.db));
    }
  });
  try {
    refuseEmptyValues(args);
    await parser.parse();
    return code;
  } catch (error) {
    return printError(parser.explain(error), args);
  } finally {
    showDatabase(null);
    closeInterrupts();
  }
}

/**
 * Returns the error to report for an unexpected error: the damage if the database is damaged, otherwise the error
 * itself, which is a bug. The file is only checked now, because checking takes as long as reading the entire file.
 */
async function explainByDamage(error: unknown, db: string): Promise<unknown> {
  if (error instanceof UserError || error instanceof Interrupted || !existsSync(db)) return error;
  const { describeDamage } = await import("./mail/integrity.js");
  return describeDamage(db, error) ?? error;
}

/** Prints the error to stderr in the format selected by `args`, and returns its exit code. */
function printError(error: unknown, args: readonly string[]): ExitCode {
  const form = { json: args.includes("--json"), verbose: args.includes("--verbose") };
  const { text, exitCode } = formatError(error, form);
  writeAboveBar(`${stripControls(text)}\n`);
  return exitCode;
}

/**
 * Replaces words with flags: `help run` with `run --help`, `help all` with `--help all`, `version` with `--version`,
 * and a missing command or subcommand with `--help`.
 */
function withHelpFlag(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === "help") {
    const isAll = (word: string) => word === "all" || word === "--all";
    return [...rest.filter((word) => !isAll(word)), "--help", ...(rest.some(isAll) ? ["all"] : [])];
  }
  if (first === "version" && rest.length === 0) return ["--version"];
  const isGroup = COMMANDS.some((entry) => nameOf(entry) === first && !("load" in entry));
  return first === undefined || (isGroup && rest.length === 0) ? [...args, "--help"] : args;
}
