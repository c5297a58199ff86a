import { UserError } from "../domain/errors.js";

/** A truncated or damaged source. `where` is the progress: `after 1,204 of 9,000 bytes`. */
export function brokenSource(name: string, where: string, cause: unknown): UserError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UserError(
    "broken_source",
    `${name} is cut off or damaged ${where}: ${reason}`,
    "Fetch the file again and import it once more.",
    undefined,
    { cause },
  );
}

/** A file or folder that the system cannot read. */
export function unreadable(path: string, cause: unknown): UserError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new UserError(
      "no_such_source",
      `${path} does not exist`,
      "Check the path of the mail to import.",
      undefined,
      {
        cause,
      },
    );
  }
  return new UserError(
    "unreadable_source",
    `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    "Check that you may read it.",
    undefined,
    { cause },
  );
}

/** Whether an error is of the file system (ENOENT, EACCES, EIO), not of a decoder. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
