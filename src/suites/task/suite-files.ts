// Resolves paths in a suite, which must not lead out of its folder.
import { mkdir, open, realpath } from "node:fs/promises";
import { basename, isAbsolute, join, relative, sep } from "node:path";
import { hasCode, reasonOf } from "../../platform/errors.js";
import { ONLY_ACCOUNT_TASKS, settingsFolders } from "./account-settings.js";

/** Maximum size, in bytes, of a graded file, whether it is an agent's or a suite's. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** Thrown if a task's file exists, but a suite must not use it. This is not the agent's fault. */
export class UnusableSuiteFile extends Error {
  override readonly name = "UnusableSuiteFile";
}

/**
 * Returns the real path of a file below a folder of the suite, or null if it is missing.
 * @throws UnusableSuiteFile if the path leads out of the folder, directly or through a link, or cannot be opened
 */
export async function resolveSuiteFile(root: string, path: string): Promise<string | null> {
  const inside = relative(root, join(root, path));
  if (isAbsolute(path) || inside === ".." || inside.startsWith(`..${sep}`)) {
    throw new UnusableSuiteFile(`${path} leaves the suite`);
  }
  try {
    const [folder, file] = await Promise.all([realpath(root), realpath(join(root, path))]);
    if (!file.startsWith(folder + sep)) throw new UnusableSuiteFile(`${path} leaves the suite through a link`);
    return file;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
    if (hasCode(error, "EACCES", "ELOOP", "ENAMETOOLONG")) {
      throw new UnusableSuiteFile(`cannot open ${path}: ${reasonOf(error)}`);
    }
    throw error;
  }
}

/** Like `resolveSuiteFile`, for paths from the suite's root. Refuses paths to account settings. */
export async function resolveSharedFile(suiteRoot: string, path: string): Promise<string | null> {
  const file = await resolveSuiteFile(suiteRoot, path);
  for (const folder of settingsFolders(suiteRoot)) {
    const real = await realpath(folder).catch(() => folder);
    if (file !== null && (isBelow(file, real) || isBelow(real, file)))
      throw new UnusableSuiteFile(`${path}: ${ONLY_ACCOUNT_TASKS}`);
  }
  return file;
}

export const isBelow = (path: string, folder: string) => path === folder || path.startsWith(folder + sep);

/** Returns the path for a collected file: a plain name in the folder of collected files. */
export async function placeInFolder(folder: string, name: string): Promise<string> {
  const file = basename(name);
  if (file !== name || file === "" || file === "." || file === ".." || name.includes("\0")) {
    throw new Error(`${JSON.stringify(name)} is not a file name`);
  }
  await mkdir(folder, { recursive: true });
  return join(folder, file);
}

export async function readCollectedFile(path: string): Promise<Buffer> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  if (size > MAX_FILE_BYTES) throw new Error(`${basename(path)} has ${size} bytes, more than ${MAX_FILE_BYTES}`);
  return await file.readFile();
}
