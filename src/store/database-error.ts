import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";

/** SQLite errors that the user can fix, by code and message, with the hint to show. */
const HINTS: readonly (readonly [error: RegExp, hint: () => string])[] = [
  [/^SQLITE_(FULL|IOERR)/, () => "See that the disk has room and works, or name another file with --db."],
  [
    /^SQLITE_(READONLY|CANTOPEN)/,
    () => "Check that the file and its folder can be written, or copy it to where they can.",
  ],
  [/^SQLITE_(BUSY|LOCKED)/, () => "Another program is writing to it: wait until it has finished."],
  [
    /^SQLITE_(CORRUPT|NOTADB)|no such (table|column|index|module)|malformed JSON|unsupported file format/,
    () =>
      `The file is damaged. Run ${commandLine`art-e doctor`} for the extent, and ${commandLine`art-e doctor --recover NEW.db`} to save the readable rows.`,
  ],
];

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** The hint for an error; null where the user cannot fix it. */
export function databaseHint(error: unknown): string | null {
  const code = codeOf(error);
  if (!(error instanceof Error) || !code.startsWith("SQLITE_")) return null;
  return HINTS.find(([pattern]) => pattern.test(`${code} ${error.message}`))?.[1]() ?? null;
}

/** The error as shown to the user; null where the user cannot fix it. */
export function databaseError(error: unknown, path: string): UserError | null {
  const hint = databaseHint(error);
  if (hint === null) return null;
  const { message } = error as Error;
  return new UserError("db_failed", `The database ${path} cannot be used: ${message}.`, hint, 1, { cause: error });
}
