import { copyFile, stat } from "node:fs/promises";
import { posix } from "node:path";
import { z } from "zod";
import { CollectedFile } from "../../spider2v/metric-function.js";
import { CannotGrade } from "../cannot-grade.js";
import { placeInFolder, resolveSharedFile } from "../suite-files.js";
import type { Getter } from "./getter.js";

const schema = z.looseObject({ path: z.string().min(1), dest: z.string().optional() });

/**
 * `local_file`: a gold file of the suite, its path from the suite's root. It is copied beside what was collected, as at
 * the origin: with the same `dest` it replaces the result, and is compared with itself.
 */
export const getLocalFile: Getter = async (args, { options }) => {
  const { path, dest } = schema.parse(args);
  const source = await resolveSharedFile(options.suiteRoot, path);
  if (source === null) return null;
  if (!(await stat(source)).isFile())
    throw new CannotGrade("unsupported", `${path} is a folder, which is not compared`);
  const target = await placeInFolder(options.workFolder, dest ?? posix.basename(path));
  await copyFile(source, target);
  return new CollectedFile(target);
};
