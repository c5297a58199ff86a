import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../domain/errors.js";
import { checkWritable } from "./atomic-file.js";

/** Checks an output folder before anything is spent on its content: nothing may be there. */
export function checkNewFolder(flag: string, folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) {
    throw new UserError("output_exists", `${flag}: ${folder} is there already.`, "Name a folder that is not.");
  }
  checkWritable(flag, folder);
}

/**
 * Writes a new folder all or nothing: under a temporary name beside it, then renamed. Synchronous, so that no Ctrl-C
 * comes in between.
 * @param files texts by their path in the folder
 */
export function writeFolderAtomically(flag: string, folder: string, files: ReadonlyMap<string, string>): void {
  const temporary = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    for (const [path, text] of files) {
      const file = join(temporary, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: "wx" });
    }
    checkNewFolder(flag, folder);
    renameSync(temporary, folder);
  } catch (cause) {
    rmSync(temporary, { recursive: true, force: true });
    if (cause instanceof UserError || !(cause instanceof Error && "code" in cause)) throw cause;
    const hint = "Free some space or name another folder.";
    throw new UserError("output_unwritable", `${flag}: ${folder}: ${cause.message}`, hint, 1, { cause });
  }
}
