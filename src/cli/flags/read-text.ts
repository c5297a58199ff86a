import { statSync } from "node:fs";
import { UserError } from "../../platform/errors.js";
import { readNamedFile } from "../../platform/files.js";

const MAX_BYTES = 4_000_000;

/** Reads a UTF-8 text file whose path comes from a flag or an argument. Throws a UserError if it is unreadable. */
export function readText(path: string, flag: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(readNamedFile(path));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : message;
    throw new UserError("file_unreadable", `${flag}: ${path} cannot be read: ${why}.`, "Name a text file.", 2, {
      cause,
    });
  }
}
