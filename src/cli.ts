import { readEnvironment } from "./app/settings/env-file.js";
import { COMMANDS } from "./commands/cli/command-table.js";
import { COMPLETE } from "./commands/cli/complete-words.js";
import { formatError } from "./commands/cli/format-error.js";
import { listenForInterrupt } from "./commands/cli/interrupt.js";
import { showMigrationProgress } from "./commands/cli/migration-progress.js";
import { handleClosedOutput, openOutput } from "./commands/cli/output.js";
import { buildParser } from "./commands/cli/parser/build-parser.js";
import { openProgressLater } from "./commands/cli/progress.js";
import { readSettings } from "./commands/cli/settings.js";
import { writeAboveBar } from "./commands/cli/terminal-bar.js";
import { refuseEmptyValues } from "./commands/cli/usage-error.js";
import { configuredDatabase } from "./commands/config/configured-database.js";
import { EXIT, type ExitCode } from "./domain/errors.js";
import { stripControls } from "./platform/strip-controls.js";
import { databaseError } from "./store/connection/database-error.js";

/** Runs one command line and returns the exit code. Errors are caught and printed only here. */
export async function main(given: readonly string[]): Promise<ExitCode> {
  handleClosedOutput();
  if (given[0] === COMPLETE) {
    const { complete } = await import("./commands/cli/complete.js");
    return complete(given.slice(1));
  }
  const args = withoutHelpCommand(given);
  let code: ExitCode = EXIT.done;
  let closeInterrupts = () => {};
  const parser = buildParser(args, COMMANDS, async ({ run }, argv) => {
    const env = readEnvironment();
    const settings = readSettings(argv, env, await configuredDatabase(argv, env));
    showMigrationProgress(settings);
    const interrupts = listenForInterrupt();
    closeInterrupts = () => interrupts.close();
    try {
      const out = openOutput(settings);
      const progress = (title: string) => openProgressLater(settings, title);
      code = await run(argv, { settings, out, note: out.note, progress, ...interrupts });
    } catch (error) {
      throw databaseError(error, settings.db) ?? error;
    }
  });
  try {
    refuseEmptyValues(args);
    await parser.parse();
    return code;
  } catch (error) {
    const form = { json: args.includes("--json"), verbose: args.includes("--verbose") };
    const { text, exitCode } = formatError(parser.explain(error), form);
    writeAboveBar(`${stripControls(text)}\n`);
    return exitCode;
  } finally {
    closeInterrupts();
  }
}

/** `art-e help run` is `art-e run --help`. */
function withoutHelpCommand([first, ...rest]: readonly string[]): readonly string[] {
  return first === "help" ? [...rest, "--help"] : first === undefined ? [] : [first, ...rest];
}
