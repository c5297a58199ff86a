// Flags and arguments whose text comes from a file.
import { statSync } from "node:fs";
import { shellWord } from "../../platform/command-line.js";
import { reasonOf, UserError } from "../../platform/errors.js";
import { statOf } from "../../platform/file-stats.js";
import { readNamedFile } from "../../platform/files.js";

const MAX_BYTES = 4_000_000;

/** Reads a UTF-8 text file whose path comes from a flag or an argument. Throws a UserError if it is unreadable. */
export function readText(path: string, flag: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readNamedFile(path));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "the file does not exist" : reasonOf(cause);
    throw new UserError("file_unreadable", `${flag}: cannot read ${path}: ${why}.`, "Pass a text file.", 2, {
      cause,
    });
  }
}

/**
 * Returns the value of a flag that takes text or `@FILE`. Throws a UserError if the text is the path of a file, because
 * the `@` was probably forgotten.
 */
export function textOrFile(value: string, flag: string): string {
  if (value.startsWith("@")) return readText(value.slice(1), flag).trimEnd();
  if (!statOf(value)?.isFile()) return value;
  throw new UserError(
    "flag_invalid",
    `${flag}: expected text, but ${value} is a file.`,
    `To use its contents: ${flag} ${shellWord(`@${value}`)}`,
  );
}
