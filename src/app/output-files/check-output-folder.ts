import { statSync } from "node:fs";
import { UserError } from "../../domain/errors.js";
import { checkOutputs, type InputFile, type OutputFile } from "./check-outputs.js";

/** Refuses a file in the place of a folder, and files of it that may not be written over. */
export function checkOutputFolder(
  flag: string,
  folder: string,
  outputs: readonly Omit<OutputFile, "flag">[],
  inputs: readonly InputFile[],
  options: { readonly db: string; readonly overwrite: boolean },
): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) throw new UserError("output_unwritable", `${flag}: ${folder} is a file.`, "Name a folder.");
  checkOutputs(
    outputs.map((output) => ({ flag, ...output })),
    inputs,
    options,
  );
}
