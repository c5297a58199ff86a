import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, normalize, relative, resolve } from "node:path";
import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { linkStatOf, statOf } from "../platform/file-stats.js";
import { type JsonObject, parseJsonOrNull } from "../platform/json.js";

/** Only tasks with this tag get account settings. */
export const ACCOUNT_TAG = "account";

const MAX_BYTES = 10_000_000;

const indexSchema = z.record(z.string(), z.array(z.string()));

/** A task that an index file lists: `{"jupyter": ["<id>", ...]}`. */
export interface IndexedTask {
  readonly tool: string;
  readonly id: string;
}

/** Reads an index file: a path as it is, or the name of a file beside `examples/`. */
export function readIndexFile(path: string, suite: SuiteFolder): IndexedTask[] {
  const found = [path, join(suite.content, path)].find(isFile);
  if (found === undefined) {
    throw new UserError("index_missing", `There is no index file ${path}, here or in ${suite.content}.`, HINT);
  }
  const tasks = parseIndexFile(found);
  if (tasks !== null) return tasks;
  throw new UserError("index_invalid", `${found} is no JSON object of tools, each with a list of task ids.`, HINT);
}

/** The tasks that an index file lists; null where it is none. */
export function parseIndexFile(path: string): IndexedTask[] | null {
  if (statSync(path).size > MAX_BYTES) return null;
  const index = indexSchema.safeParse(parseJsonOrNull(readFileSync(path, "utf8")));
  if (!index.success) return null;
  return Object.entries(index.data).flatMap(([tool, ids]) => ids.map((id) => ({ tool, id })));
}

const HINT = 'Name a file such as test_one.json: {"jupyter": ["<task id>", ...]}.';

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What a function takes. */
export type ArgumentSchema = z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>;

/** A function's arguments as the origin would take them: a missing one is an error. */
export function parseArguments<T>(schema: z.ZodType<T>, args: JsonObject): T {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new Error(`its arguments are wrong: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Where a task's file lies: `examples/<tool>/<folderName>/<fileName>`. */
export interface TaskFilePath {
  readonly tool: string;
  readonly folder: string;
  readonly folderName: string;
  readonly file: string;
}

/** The task files of a suite, in the order of their paths, and folders that have none. Links are not followed. */
export function findTaskFiles(suite: SuiteFolder): { files: TaskFilePath[]; findings: SuiteFinding[] } {
  const files: TaskFilePath[] = [];
  const findings: SuiteFinding[] = [];
  const examples = join(suite.content, "examples");
  for (const tool of foldersIn(examples)) {
    for (const folderName of foldersIn(join(examples, tool))) {
      const folder = join(examples, tool, folderName);
      const names = readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
        .map(({ name }) => name);
      const expected = `${folderName}.json`;
      const other = names.length === 1 ? names[0] : undefined;
      const name = names.includes(expected) ? expected : other;
      const at = { task: null, file: pathInSuite(suite, folder), field: "" } as const;
      if (name !== undefined) files.push({ tool, folder, folderName, file: join(folder, name) });
      else findings.push({ ...at, level: "error", code: "task_missing", message: `has no file ${expected}` });
    }
  }
  return { files, findings };
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}

/** What a relative path names in a folder. `outside`: it is absolute, or leaves the folder. */
export type FileState = "file" | "folder" | "missing" | "outside" | "link" | "special";

/** Looks at a path of a task, part by part: links are not followed. */
export function fileStateOf(folder: string, path: string): FileState {
  const parts = normalize(path).split("/");
  if (path.includes("\0") || path.startsWith("/") || path.startsWith("~/") || parts[0] === "..") return "outside";
  let current = folder;
  let state: FileState = "folder";
  for (const part of parts.filter((one) => one !== "" && one !== ".")) {
    if (state !== "folder") return "missing";
    current = join(current, part);
    state = stateOf(current);
  }
  return state;
}

export function stateOf(path: string): FileState {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return "link";
    if (stats.isDirectory()) return "folder";
    return stats.isFile() ? "file" : "special";
  } catch {
    return "missing";
  }
}

/** A folder of tasks. Absolute paths. */
export interface SuiteFolder {
  /** Whether it holds task files in `examples/`, or folders of Harbor tasks. */
  readonly form: "examples" | "harbor";
  /** The name of its root folder. */
  readonly name: string;
  /** Paths of Spider2-V's files are relative to it, as they begin with `evaluation_examples/`. */
  readonly root: string;
  /** Holds the tasks, `settings/` and the index files: the root, or `evaluation_examples/` in it. */
  readonly content: string;
}

/** The folder that Spider2-V keeps its tasks in. */
export const SPIDER_CONTENT = "evaluation_examples";

export function openSuiteFolder(path: string): SuiteFolder {
  const folder = resolve(path);
  // The suite itself may be a link; what is in it may not.
  const inside = join(folder, SPIDER_CONTENT);
  const candidates = [...(isFolder(folder, statOf) ? [folder] : []), ...(isFolder(inside, linkStatOf) ? [inside] : [])];
  const content = candidates.find((candidate) => isFolder(join(candidate, "examples"), linkStatOf));
  if (content !== undefined) {
    const root = basename(content) === SPIDER_CONTENT ? dirname(content) : content;
    return { form: "examples", name: basename(root), root, content };
  }
  const [task] = isFolder(folder, statOf) ? harborFolders(folder, HARBOR_DEPTH) : [];
  if (task !== undefined) return { form: "harbor", name: basename(folder), root: folder, content: folder };
  throw new UserError(
    "suite_missing",
    `${path} is no task suite: it has no folder examples/, and no folders of Harbor tasks.`,
    "Name the folder that holds examples/<tool>/<id>/<id>.json, or <id>/task.toml.",
  );
}

/** How deep below a dataset's folder its tasks may lie. */
const HARBOR_DEPTH = 4;

/** The folders of Harbor tasks in a folder, which may be one itself, in the order of their paths. */
function* harborFolders(folder: string, depth: number): Generator<string> {
  if (stateOf(join(folder, "task.toml")) === "file") yield folder;
  else if (depth > 0) for (const name of foldersIn(folder)) yield* harborFolders(join(folder, name), depth - 1);
}

/** Its tasks' files; the tool that a task is of is the folder that it lies in, where that is below the suite's own. */
export function findHarborTasks(suite: SuiteFolder): TaskFilePath[] {
  return [...harborFolders(suite.root, HARBOR_DEPTH)].map((folder) => ({
    tool: relative(suite.root, dirname(folder)).replace(/^\.\.$/, "") || suite.name,
    ...{ folder, folderName: basename(folder), file: join(folder, "task.toml") },
  }));
}

/** A path as findings name it. */
export function pathInSuite(suite: SuiteFolder, path: string): string {
  return relative(suite.root, path);
}

function isFolder(path: string, look: typeof statOf): boolean {
  return look(path)?.isDirectory() ?? false;
}

/** `error`: the task cannot be set up or graded as its file says, or files contradict each other. */
export type FindingLevel = "error" | "warning";

/** What a check found, and where. */
export interface SuiteFinding {
  readonly level: FindingLevel;
  /** In snake_case: `file_missing`. */
  readonly code: string;
  /** Id of the task; null where it is about no task that could be read. */
  readonly task: string | null;
  /** Relative to the suite's root. */
  readonly file: string;
  /** `config[0].arguments.local_path`; empty: the whole file. */
  readonly field: string;
  readonly message: string;
}

/** The path of a field as people write it: `config[0].func`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (written, part) =>
      typeof part === "number" ? `${written}[${part}]` : `${written}${written === "" ? "" : "."}${String(part)}`,
    "",
  );
}
