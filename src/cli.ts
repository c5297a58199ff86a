import { readEnvironment } from "./app/settings/env-file.js";
import { buildParser } from "./commands/cli/build-parser.js";
import { COMMANDS } from "./commands/cli/command-table.js";
import { formatError } from "./commands/cli/format-error.js";
import { listenForInterrupt } from "./commands/cli/interrupt.js";
import { showMigrationProgress } from "./commands/cli/migration-progress.js";
import { handleClosedOutput, openOutput } from "./commands/cli/output.js";
import { openProgressLater } from "./commands/cli/progress.js";
import { readSettings } from "./commands/cli/settings.js";
import { refuseEmptyValues } from "./commands/cli/usage-error.js";
import { EXIT, type ExitCode } from "./domain/errors.js";
import { stripControls } from "./platform/strip-controls.js";
import { databaseError } from "./store/connection/database-error.js";

/** Runs one command line and returns the exit code. Errors are caught and printed only here. */
export async function main(args: readonly string[]): Promise<ExitCode> {
  handleClosedOutput();
  let code: ExitCode = EXIT.done;
  let closeInterrupts = () => {};
  const parser = buildParser(args, COMMANDS, async ({ run }, argv) => {
    const settings = readSettings(argv, readEnvironment());
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
    const { text, exitCode } = formatError(parser.explain(error), args.includes("--verbose"));
    process.stderr.write(`${stripControls(text)}\n`);
    return exitCode;
  } finally {
    closeInterrupts();
  }
}
