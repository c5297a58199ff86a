import { posix } from "node:path";
import { fileStateOf } from "../file-in-folder.js";
import type { SuiteFinding } from "../finding.js";
import { type NamedPath, namedPaths } from "../named-paths.js";
import type { ReadTask } from "../read-task.js";
import { type CheckContext, findingsOf, type TaskCheck } from "./check-context.js";

/**
 * Paths in the machine are absolute, none is in the place of a file of the suite, and results are looked for where
 * uploads lie.
 */
export const checkMachinePaths: TaskCheck = (read, context) => {
  const paths = namedPaths(read);
  return paths.flatMap((named) => {
    if (!isInMachine(named)) return [];
    return [
      ...checkAbsolute(named, paths, read, context),
      ...(named.kind === "result"
        ? [...checkUploadFolder(named, paths, read, context), ...checkSwappedFiles(named, paths, read, context)]
        : []),
    ];
  });
};

type PathCheck = (
  named: NamedPath,
  paths: readonly NamedPath[],
  read: ReadTask,
  context: CheckContext,
) => SuiteFinding[];

/** A relative path in the machine, beside an absolute one of a file: the two are swapped. */
const checkAbsolute: PathCheck = (named, paths, read, context) => {
  if (isAbsolute(named.path)) return [];
  const { error, warning } = findingsOf(read, context);
  const swapped = paths.find((other) => isFile(other) && isSamePair(other, named) && isAbsolute(other.path));
  if (swapped !== undefined) {
    const message = `${named.path} is no path in the machine, but ${swapped.path} is: swapped arguments?`;
    return [error("arguments_swapped", named.field, message)];
  }
  return [warning("machine_path_relative", named.field, `${named.path} is no absolute path in the machine`)];
};

/** A file of the result's name is uploaded, but to another folder. */
const checkUploadFolder: PathCheck = (result, paths, read, context) => {
  const uploads = paths.filter(
    ({ kind, call, path }) => kind === "upload" && call.role === "config" && nameOf(path) === nameOf(result.path),
  );
  const [first] = uploads;
  if (first === undefined || uploads.some(({ path }) => path === result.path)) return [];
  const message = `${result.path} is expected, but the file of this name is uploaded to ${first.path}`;
  return [findingsOf(read, context).warning("result_elsewhere", result.field, message)];
};

/** The gold file is one that is uploaded, and the result has the name of another file of the task that is not. */
const checkSwappedFiles: PathCheck = (result, paths, read, context) => {
  const uploaded = new Set(
    paths.filter(({ kind, call }) => kind === "input" && call.role === "config").map(({ path }) => nameOf(path)),
  );
  const gold = paths.find((other) => other.kind === "gold" && isSamePair(other, result));
  const name = nameOf(result.path);
  if (gold === undefined || !uploaded.has(nameOf(gold.path)) || uploaded.has(name)) return [];
  if (fileStateOf(read.path.folder, name) !== "file") return [];
  const message = `${gold.path} is uploaded at the start, and ${name} lies in the task's folder: the two look swapped`;
  return [findingsOf(read, context).warning("arguments_swapped", gold.field, message)];
};

const nameOf = (path: string) => posix.basename(path);
const isAbsolute = (path: string) => path.startsWith("/") || path.startsWith("~/");
const isInMachine = ({ kind }: NamedPath) => kind === "result" || kind === "upload";
const isFile = ({ kind }: NamedPath) => kind === "input" || kind === "script" || kind === "gold";

/** Arguments of one function, or the two getters of one comparison. */
const isSamePair = (a: NamedPath, b: NamedPath) =>
  a.call === b.call || (a.call.metric !== null && a.call.metric === b.call.metric && isGetter(a) && isGetter(b));

const isGetter = ({ call }: NamedPath) => call.role === "result" || call.role === "expected";
