// Errors of damaged sources, with the position up to which they were read.
import { messageOf, reasonOf, UserError } from "../../../platform/errors.js";

/** A truncated or damaged source. Inside a folder or an archive, it is skipped, with `problem` as the reason. */
export class BrokenSource extends UserError {
  /** @param problem the rest of a sentence that starts with the name */
  constructor(
    name: string,
    readonly problem: string,
    hint: string,
    cause: unknown,
  ) {
    super("broken_source", `${name} ${problem}`, hint, undefined, { cause });
  }
}

/** @param where the progress, such as `after 1,204 of 9,000 bytes` */
export function brokenSource(name: string, where: string, cause: unknown): BrokenSource {
  const reason = messageOf(cause);
  const problem = `is truncated or damaged ${where}: ${reason}`;
  return new BrokenSource(name, problem, "Download the file again, then import it.", cause);
}

/**
 * Compressed or archived data that cannot be decoded. Readers that know their position convert it to a `BrokenSource`.
 */
export class DamagedData extends Error {
  override readonly name = "DamagedData";

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

/** An entry that cannot be written to the temporary folder. It ends the import, because the archive is not damaged. */
export class UnpackFailed extends UserError {
  constructor(name: string, folder: string, cause: unknown) {
    const message = `Cannot unpack ${name} to the temporary folder ${folder}: ${reasonOf(cause)}.`;
    super("unpack_failed", message, "Free some disk space, or set TMPDIR to another folder.", 1, { cause });
  }
}

/** Returns the error for a file or folder that the system cannot read. */
export function unreadable(path: string, cause: unknown): UserError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  // Node replaces bytes of a name that are not UTF-8, and the file is not found under the new name.
  if (code === "ENOENT" && path.includes("\ufffd")) {
    const message = `${path} cannot be read: its name is not UTF-8`;
    return new UserError("source_unreadable", message, "Rename it, for example with convmv.", undefined, { cause });
  }
  if (code === "ENOENT" || code === "ENOTDIR") {
    const hint = "Check the path of the mail to import.";
    return new UserError("source_missing", `${path} does not exist`, hint, undefined, { cause });
  }
  return new UserError(
    "source_unreadable",
    `${path} cannot be read: ${reasonOf(cause)}`,
    "Check that you have permission to read it.",
    undefined,
    { cause },
  );
}

/** Whether an error comes from the file system (ENOENT, EACCES, EIO) or from a path with a NUL, not from a decoder. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && ("syscall" in error || ("code" in error && error.code === "ERR_INVALID_ARG_VALUE"));
}
