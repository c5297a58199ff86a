import { statSync } from "node:fs";
import { UserError } from "../../platform/errors.js";
import { readNamedFile } from "../../platform/files.js";

const MAX_BYTES = 4_000_000;

/** Reads a UTF-8 text file whose path comes from a flag or an argument. Throws a UserError if it is unreadable. */
export function readText(path: string, flag: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readNamedFile(path));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "the file does not exist" : message;
    throw new UserError("file_unreadable", `${flag}: cannot read ${path}: ${why}.`, "Pass a text file.", 2, {
      cause,
    });
  }
}
