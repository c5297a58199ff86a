import { Interrupted } from "../../app/use-case-context.js";
import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";

/** The message for a thrown error, and its exit code. */
export function formatError(error: unknown, verbose: boolean): { text: string; exitCode: ExitCode } {
  if (error instanceof Interrupted) return { text: `art-e: ${error.message}`, exitCode: EXIT.interrupted };
  if (error instanceof UserError) {
    const stack = verbose ? `\n${stackOf(error)}` : "";
    return { text: `art-e: ${error.message}\n       ${error.hint}${stack}`, exitCode: error.exitCode };
  }
  const message = error instanceof Error ? error.message : String(error);
  const more = verbose ? stackOf(error) : "       This is a bug in art-e. Run it again with --verbose for the details.";
  return { text: `art-e: ${message}\n${more}`, exitCode: EXIT.failed };
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
