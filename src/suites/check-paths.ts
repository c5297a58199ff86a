import { existsSync, readdirSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { readSettingsState, type SettingsState, TEMPLATE_ENDING } from "./accounts.js";
import type { CustomFunctions } from "./custom-functions.js";
import {
  type FileState,
  type FindingLevel,
  fileStateOf,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
} from "./suite-folder.js";
import type { LocatedCall, ReadTask } from "./task-file.js";
import { type NamedPath, namedPaths } from "./task-needs.js";

/** Account settings that tasks name, or that the suite has templates for, and that are not filled in. */
export function checkSettings(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const users = new Map<string, number>(templatesOf(suite).map((path) => [path, 0]));
  const outside: SuiteFinding[] = [];
  for (const read of tasks) {
    const named = namedPaths(read).filter(({ kind }) => kind === "settings");
    for (const { path, field } of named) {
      if (!["outside", "link"].includes(fileStateOf(suite.root, path))) continue;
      const at = { task: read.task.id, file: pathInSuite(suite, read.path.file), field };
      const message = `settings file ${path} is outside of the suite's folder, or leads over a link`;
      outside.push({ level: "error", code: "path_outside", ...at, message });
    }
    for (const path of new Set(named.map((one) => join(one.path)))) users.set(path, (users.get(path) ?? 0) + 1);
  }
  const findings = [...users].flatMap(([path, count]) => describeState(suite, path, count));
  return [...outside, ...findings];
}

function describeState(suite: SuiteFolder, path: string, users: number): SuiteFinding[] {
  if (["outside", "link"].includes(fileStateOf(suite.root, path))) return [];
  const settings = readSettingsState(join(suite.root, path));
  if (settings.state === "filled") return [];
  const needing = users === 0 ? "no task names it" : `${users} ${users === 1 ? "task needs" : "tasks need"} it`;
  const message = `${MESSAGES[settings.state]} (${needing})`;
  const field = settings.state === "placeholders" ? settings.fields.join(", ") : "";
  return [{ level: "warning", code: "settings_not_filled_in", task: null, file: path, field, message }];
}

const MESSAGES: Readonly<Record<Exclude<SettingsState["state"], "filled">, string>> = {
  template_only: `is not filled in: copy the file that ends in ${TEMPLATE_ENDING}, without this ending, and fill it in`,
  placeholders: "is not filled in: these fields have the template's values",
  missing: "is missing, and there is no template for it",
  unreadable: "is not JSON, even without its comments",
};

/** The settings files that templates under `settings/` stand for, relative to the suite's root. */
function templatesOf(suite: SuiteFolder): string[] {
  const folder = join(suite.content, "settings");
  if (!existsSync(folder)) return [];
  // With file types, links are not followed.
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(TEMPLATE_ENDING))
    .map(({ parentPath, name }) => relative(suite.root, join(parentPath, name.slice(0, -TEMPLATE_ENDING.length))))
    .sort();
}

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

const MEANINGS = { input: "input", script: "script", gold: "gold file" } as const;

const FAULTS: Readonly<Record<FileState, { readonly code: string; readonly message: string } | null>> = {
  file: null,
  folder: { code: "file_is_folder", message: "is a folder" },
  missing: { code: "file_missing", message: "is not in %" },
  outside: { code: "path_outside", message: "is outside of %" },
  link: { code: "file_is_link", message: "leads over a link, which is not followed" },
  special: { code: "file_is_special", message: "is no regular file" },
};

type FilePath = NamedPath & { readonly kind: keyof typeof MEANINGS };

const isFilePath = (named: NamedPath): named is FilePath => named.kind in MEANINGS;

/** The inputs, scripts and golds that a task names are regular files of the suite. */
export const checkFiles: TaskCheck = (read, context) => {
  const { task, path } = read;
  const { error } = findingsOf(read, context);
  const isFlowbook = task.dialect === "flowbook";
  const [folder, where] = isFlowbook ? [path.folder, "the task's folder"] : [context.suite.root, "the suite's folder"];
  return namedPaths(read)
    .filter(isFilePath)
    .flatMap(({ kind, path: file, field }): SuiteFinding[] => {
      const what = `${MEANINGS[kind]} ${file}`;
      const fault = FAULTS[fileStateOf(folder, file)];
      if (fault === null || (kind === "input" && fault.code === "file_is_folder")) return [];
      return [error(fault.code, field, `${what} ${fault.message.replace("%", where)}`)];
    });
};

/** The result and the gold file are saved under different names: equal ones compare a file with itself. */
export const checkDestinations: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const same = (field: string, name: string): SuiteFinding =>
    error("destination_equal", field, `${name} is where the result is saved too: the score is 1 whatever it holds`);
  if (read.task.dialect === "flowbook") {
    const paths = namedPaths(read);
    return paths
      .filter(({ kind }) => kind === "gold")
      .filter((gold) =>
        paths.some(
          ({ kind, path, call }) =>
            kind === "result" && call === gold.call && posix.basename(path) === posix.basename(gold.path),
        ),
      )
      .map(({ field, path }) => same(field, posix.basename(path)));
  }
  const destinations = (call: LocatedCall | undefined) => [call?.arguments.dest ?? []].flat();
  return read.calls
    .filter(({ role }) => role === "expected")
    .flatMap((expected) => {
      const result = read.calls.find(({ role, metric }) => role === "result" && metric === expected.metric);
      const shared = destinations(expected).filter((name) => destinations(result).includes(name));
      return shared.map((name) => same(`${expected.argumentsField}.dest`, String(name)));
    });
};

/** What a check of one task may look at. */
export interface CheckContext {
  readonly suite: SuiteFolder;
  readonly tasks: readonly ReadTask[];
  readonly byId: ReadonlyMap<string, ReadTask>;
  /** The user's own, beside those of the dialect. */
  readonly custom: CustomFunctions;
  /** By name; null where they could not be read, or are not looked at. */
  readonly snapshots: ReadonlyMap<string, unknown> | null;
}

/** A check of one task. */
export type TaskCheck = (read: ReadTask, context: CheckContext) => SuiteFinding[];

/** Writes findings about one task. */
export function findingsOf({ task, path }: ReadTask, { suite }: CheckContext) {
  const write = (level: FindingLevel) => (code: string, field: string, message: string) => ({
    level,
    code,
    task: task.id,
    file: pathInSuite(suite, path.file),
    field,
    message,
  });
  return { error: write("error"), warning: write("warning") };
}
