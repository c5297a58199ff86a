import { UserError } from "../../domain/errors.js";

/** What SQLite says of a file or a disk that the user must mend, by the beginning of its code, and what to do. */
const HINTS: readonly (readonly [code: RegExp, hint: string])[] = [
  [/^SQLITE_(FULL|IOERR)/, "See that the disk has room and works, or name another file with --db."],
  [/^SQLITE_(READONLY|CANTOPEN)/, "Check that the file and its folder can be written, or copy it to where they can."],
  [/^SQLITE_(BUSY|LOCKED)/, "Another program is writing to it: wait until it has finished."],
  [/^SQLITE_(CORRUPT|NOTADB)/, "The file is damaged: art-e doctor tells how far. Restore it, or import the mail anew."],
];

/** What to do about such an error; null for any other. */
export function databaseHint(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return HINTS.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}

/** The user's words for it; null for any other. */
export function databaseError(error: unknown, path: string): UserError | null {
  const hint = databaseHint(error);
  if (hint === null) return null;
  const { message } = error as Error;
  return new UserError("db_failed", `The database ${path} cannot be used: ${message}.`, hint, 1, { cause: error });
}
