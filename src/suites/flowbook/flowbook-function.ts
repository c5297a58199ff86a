import { copyFile } from "node:fs/promises";
import { posix } from "node:path";
import { z } from "zod";
import type { JsonObject } from "../../domain/json.js";
import type { EvaluationContext } from "../evaluation/evaluation-context.js";
import { placeInFolder, readCollectedFile, resolveSuiteFile } from "../evaluation/suite-files.js";

/** Gives 0 or 1. The runner scores 0 where one throws. */
export type FlowbookFunction = (args: JsonObject, context: EvaluationContext) => Promise<number>;

/** The two files of a comparison. */
export const filePair = z.looseObject({ local_expected: z.string(), vm_result: z.string() });

/** Fetches a file of the machine into the result folder under its own name. */
export async function collectResult({ machine, options }: EvaluationContext, path: string): Promise<string> {
  const local = await placeInFolder(options.workFolder, posix.basename(path));
  if (!(await machine.copyOut(path, local))) throw new Error(`${path} is not in the machine`);
  return local;
}

export interface ComparedFiles {
  readonly result: Buffer;
  readonly expected: Buffer;
}

/** As at the origin both files go into one folder under their own names: of equal ones, the gold file stays. */
export async function collectFiles(context: EvaluationContext, path: string, gold: string): Promise<ComparedFiles> {
  const result = await collectResult(context, path);
  const source = await resolveSuiteFile(context.task.folder, gold);
  if (source === null) throw new Error(`the gold file ${gold} is missing`);
  const expected = await placeInFolder(context.options.workFolder, posix.basename(gold));
  await copyFile(source, expected);
  return { result: await readCollectedFile(result), expected: await readCollectedFile(expected) };
}
