import { randomUUID } from "node:crypto";
import { accessSync, constants, rmSync, type Stats, statSync } from "node:fs";
import { open, rename } from "node:fs/promises";
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

/** Characters written at once: pieces are often a line each. */
const CHUNK = 1 << 16;

/**
 * Writes a file whole or not at all: a temporary file beside it, synced, then renamed. A device or a pipe
 * (`/dev/null`, `>(gzip)`) is written to as it is: a file in its place would be its end. The loop is given back at every
 * write, so that `pieces` may be many.
 */
export async function writeFileAtomically(path: string, pieces: Iterable<string>): Promise<void> {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  const target = isFile ? `${path}.${randomUUID().slice(0, 8)}.tmp` : path;
  const drop = () => rmSync(target, { force: true });
  // A second Ctrl-C ends the process in the middle of it.
  if (isFile) process.once("exit", drop);
  try {
    const file = await open(target, isFile ? "wx" : "w");
    try {
      for (const chunk of chunks(pieces)) await file.writeFile(chunk);
      if (isFile) await file.sync();
    } finally {
      await file.close();
    }
    if (isFile) await rename(target, path);
  } catch (error) {
    if (isFile) drop();
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new UserError(
      "output_unwritable",
      `${path} cannot be written: ${error.message}`,
      "Free some space or name another file; what was to go into it is still in the database.",
      1,
      { cause: error },
    );
  } finally {
    process.off("exit", drop);
  }
}

function* chunks(pieces: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}
