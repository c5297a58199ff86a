import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { UserError } from "../domain/errors.js";

/** Refuses an output file that could not be written, before anything is spent on what is to go into it. */
export function checkWritable(flag: string, path: string): void {
  const folder = dirname(path);
  let there: Stats | undefined;
  try {
    there = statSync(path, { throwIfNoEntry: false });
    accessSync(there === undefined || there.isFile() ? folder : path, constants.W_OK);
  } catch (cause) {
    throw new UserError(
      "output_unwritable",
      `${flag}: ${path} cannot be written: there is no folder ${folder} that may be written to.`,
      "Make the folder, or name another file.",
      2,
      { cause },
    );
  }
  if (there?.isDirectory()) {
    throw new UserError("output_unwritable", `${flag}: ${path} is a folder.`, "Name a file.");
  }
}

/**
 * Writes a file whole or not at all: a temporary file beside it, synced, then renamed. A device or a pipe
 * (`/dev/null`, `>(gzip)`) is written to as it is: a file in its place would be its end.
 */
export function writeWhole(path: string, pieces: Iterable<string>): void {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  const target = isFile ? `${path}.${randomUUID().slice(0, 8)}.tmp` : path;
  try {
    const file = openSync(target, isFile ? "wx" : "w");
    try {
      for (const piece of pieces) writeFileSync(file, piece);
      if (isFile) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isFile) renameSync(target, path);
  } catch (error) {
    if (isFile) rmSync(target, { force: true });
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new UserError(
      "output_unwritable",
      `${path} cannot be written: ${error.message}`,
      "Free some space or name another file; what was to go into it is still in the database.",
      1,
      { cause: error },
    );
  }
}
