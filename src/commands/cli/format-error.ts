import { Interrupted } from "../../app/use-case-context.js";
import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";

/** How an error is printed. */
interface ErrorForm {
  /** As one line of JSON: `{"error": {"code", "message", "hint", "exitCode"}}`. */
  readonly json: boolean;
  /** With its stack. */
  readonly verbose: boolean;
}

/** What is printed for a thrown error, and the exit code that it ends the program with. */
export function formatError(error: unknown, { json, verbose }: ErrorForm): { text: string; exitCode: ExitCode } {
  const { code, message, hint, exitCode } = describe(error);
  const stack = verbose && code !== "interrupted" ? stackOf(error) : null;
  if (json) {
    const fields = { code, message, hint, exitCode, ...(stack === null ? {} : { stack }) };
    return { text: JSON.stringify({ error: fields }), exitCode };
  }
  // With a bug's stack there is nothing more to ask for.
  const more = stack !== null && code === "bug" ? [stack] : [hint && `       ${hint}`, stack];
  return { text: [`art-e: ${message}`, ...more.filter((line) => line)].join("\n"), exitCode };
}

interface Described {
  readonly code: string;
  readonly message: string;
  /** What to do; null: nothing. */
  readonly hint: string | null;
  readonly exitCode: ExitCode;
}

function describe(error: unknown): Described {
  if (error instanceof Interrupted) {
    return { code: "interrupted", message: error.message, hint: null, exitCode: EXIT.interrupted };
  }
  if (error instanceof UserError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const hint = "This is a bug in art-e. Run it again with --verbose for the details.";
  return { code: "bug", message, hint, exitCode: EXIT.failed };
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
