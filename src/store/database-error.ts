// Converts SQLite's errors to messages that say what to do.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";

export const damagedHint = () =>
  `The file is damaged. ${commandLine`art-e doctor`} checks it. Save the readable rows with SQLite's shell (docs/troubleshooting.md), or use a backup.`;

/** SQLite errors that the user can fix, by code and message, with the hint to show. */
const HINTS: readonly (readonly [error: RegExp, hint: () => string])[] = [
  [/^SQLITE_(FULL|IOERR)/, () => "Check the disk and its free space, or pass another file with --db."],
  [
    /^SQLITE_(READONLY|CANTOPEN)/,
    () => "Make the file and its folder writable, or copy the file to a writable folder.",
  ],
  [/^SQLITE_(BUSY|LOCKED)/, () => "Wait until the other program has finished writing to the database."],
  [/^SQLITE_(CORRUPT|NOTADB)|no such (table|column|index|module)|malformed JSON|unsupported file format/, damagedHint],
];

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Returns whether another connection holds the required lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

/** Returns the hint for an error, or null if the user cannot fix it. */
export function databaseHint(error: unknown): string | null {
  const code = codeOf(error);
  if (!(error instanceof Error) || !code.startsWith("SQLITE_")) return null;
  return HINTS.find(([pattern]) => pattern.test(`${code} ${error.message}`))?.[1]() ?? null;
}

/** Returns the error to show to the user, or null if the user cannot fix it. */
export function databaseError(error: unknown, path: string): UserError | null {
  const hint = databaseHint(error);
  if (hint === null) return null;
  const { message } = error as Error;
  return new UserError("db_failed", `Cannot use the database ${path}: ${message}.`, hint, 1, { cause: error });
}
