import { randomUUID } from "node:crypto";
import { accessSync, constants, rmSync, type Stats, statSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { UserError } from "../domain/errors.js";

/** Checks an output file before anything is spent on its content. */
export function checkWritable(flag: string, path: string): void {
  const folder = dirname(path);
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
    accessSync(stats === undefined || stats.isFile() ? folder : path, constants.W_OK);
  } catch (cause) {
    throw new UserError(
      "output_unwritable",
      `${flag}: ${path} cannot be written: there is no folder ${folder} that may be written to.`,
      "Make the folder, or name another file.",
      2,
      { cause },
    );
  }
  if (stats?.isDirectory()) {
    throw new UserError("output_unwritable", `${flag}: ${path} is a folder.`, "Name a file.");
  }
}

/**
 * Writes a file the user named, by `replaceFile`. A device or a pipe (`/dev/null`, `>(gzip)`) is written to directly:
 * a rename would put a plain file in its place. The event loop runs between writes, so `pieces` may be many.
 * @throws UserError where the file cannot be written
 */
export async function writeFileAtomically(path: string, pieces: Iterable<string | Uint8Array>): Promise<void> {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  try {
    if (isFile) await replaceFile(path, pieces);
    else await writeTo(path, "w", pieces, false);
  } catch (error) {
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

/**
 * Writes a file all or nothing: a temporary file beside it, synced to the disk, then renamed. Readers see the old
 * file or the new one, and of several writers the last rename wins.
 * @param sync false for caches, where an entry lost in a power cut costs little
 */
export async function replaceFile(
  path: string,
  pieces: Iterable<string | Uint8Array>,
  { sync = true }: { readonly sync?: boolean } = {},
): Promise<void> {
  const temporary = `${path}.${randomUUID().slice(0, 8)}.tmp`;
  removeOnExit(temporary);
  try {
    await writeTo(temporary, "wx", pieces, sync);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    temporaryFiles.delete(temporary);
  }
}

async function writeTo(
  path: string,
  flags: string,
  pieces: Iterable<string | Uint8Array>,
  sync: boolean,
): Promise<void> {
  const file = await open(path, flags);
  try {
    for (const chunk of joinShort(pieces)) await file.writeFile(chunk);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

/** Temporary files being written. A second Ctrl-C exits in the middle of it. */
const temporaryFiles = new Set<string>();
let hasExitListener = false;

function removeOnExit(path: string): void {
  temporaryFiles.add(path);
  if (hasExitListener) return;
  hasExitListener = true;
  process.on("exit", () => {
    for (const temporary of temporaryFiles) rmSync(temporary, { force: true });
  });
}

/** Characters written at once: pieces are often a line each. */
const CHUNK = 1 << 16;

function* joinShort(pieces: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  let chunk = "";
  for (const piece of pieces) {
    if (typeof piece === "string") {
      chunk += piece;
      if (chunk.length < CHUNK) continue;
      yield chunk;
    } else {
      if (chunk !== "") yield chunk;
      yield piece;
    }
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}
