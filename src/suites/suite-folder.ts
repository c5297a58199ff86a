// A suite as a folder of files: paths, states and findings. It does not know what a task means.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, normalize, relative, resolve } from "node:path";
import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { linkStatOf, statOf } from "../platform/file-stats.js";
import { type JsonObject, parseJsonOrNull } from "../platform/json.js";
import { compact } from "../platform/optional-values.js";

/** Only tasks with this tag get account settings. */
export const ACCOUNT_TAG = "account";

const MAX_BYTES = 10_000_000;

const indexSchema = z.record(z.string(), z.array(z.string()));

/** A task in an index file: `{"jupyter": ["<id>", ...]}`. */
export interface IndexedTask {
  readonly tool: string;
  readonly id: string;
}

/** Schema of a function's arguments. */
export type ArgumentSchema = z.ZodObject | z.ZodUnion<readonly z.ZodObject[]>;

/** Location of a task's file: `examples/<tool>/<folderName>/<fileName>`. */
export interface TaskFilePath {
  readonly tool: string;
  readonly folder: string;
  readonly folderName: string;
  readonly file: string;
}

/** Type of the file at a relative path. `outside` means that the path is absolute or leaves the folder. */
export type FileState = "file" | "folder" | "missing" | "outside" | "link" | "special";

/** A folder of tasks. All paths are absolute. */
export interface SuiteFolder {
  /** Whether the folder contains task files in `examples/`, or folders of Harbor tasks. */
  readonly form: "examples" | "harbor";
  /** Name of the root folder. */
  readonly name: string;
  /** Spider2-V's paths are relative to this folder, because they start with `evaluation_examples/`. */
  readonly root: string;
  /** Folder of the tasks, `settings/` and the index files: the root, or `evaluation_examples/` in it. */
  readonly content: string;
}

/** `error` means that the task cannot be set up or graded as written, or that files contradict each other. */
export type FindingLevel = "error" | "warning";

/** Result of a check. */
export interface SuiteFinding {
  readonly level: FindingLevel;
  /** Name in snake_case, such as `file_missing`. */
  readonly code: string;
  /** Id of the task, or null if the finding is not about a readable task. */
  readonly task: string | null;
  /** Relative to the suite's root. */
  readonly file: string;
  /** Path like `config[0].arguments.local_path`, or empty for the entire file. */
  readonly field: string;
  readonly message: string;
}

/** Reads an index file. `path` is its path, or the name of a file next to `examples/`. */
export function readIndexFile(path: string, suite: SuiteFolder): IndexedTask[] {
  const indexFile = [path, join(suite.content, path)].find((file) => statOf(file)?.isFile());
  if (indexFile === undefined) {
    throw new UserError(
      "index_missing",
      `Cannot find the index file ${path} in the working directory or in ${suite.content}.`,
      HINT,
    );
  }
  const tasks = parseIndexFile(indexFile);
  if (tasks !== null) return tasks;
  throw new UserError(
    "index_invalid",
    `Cannot read the index file ${indexFile}: expected a JSON object that maps each tool to a list of task ids.`,
    HINT,
  );
}

/** Returns the tasks in an index file, or null if it is not an index file. */
export function parseIndexFile(path: string): IndexedTask[] | null {
  if (statSync(path).size > MAX_BYTES) return null;
  const index = indexSchema.safeParse(parseJsonOrNull(readFileSync(path, "utf8")));
  if (!index.success) return null;
  return Object.entries(index.data).flatMap(([tool, ids]) => ids.map((id) => ({ tool, id })));
}

const HINT = 'Pass a file such as test_one.json: {"jupyter": ["<task id>", ...]}.';

/** Parses a function's arguments like the original suite: a missing argument is an error. */
export function parseArguments<T>(schema: z.ZodType<T>, args: JsonObject): T {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new Error(`its arguments are invalid: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}

/** Returns the task files of a suite, sorted by path, and findings about folders without one. Does not follow links. */
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
      else findings.push({ ...at, level: "error", code: "task_missing", message: `does not contain ${expected}` });
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

/** Returns the state of a task's path. Checks each part, because links are not followed. */
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
  const stats = linkStatOf(path);
  if (stats === undefined) return "missing";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isDirectory()) return "folder";
  return stats.isFile() ? "file" : "special";
}

/** Spider2-V's folder of tasks. */
export const SPIDER_CONTENT = "evaluation_examples";

export function openSuiteFolder(path: string): SuiteFolder {
  const folder = resolve(path);
  // The suite itself can be a link, but its contents cannot.
  const inside = join(folder, SPIDER_CONTENT);
  const candidates = compact([isFolder(folder, statOf) && folder, isFolder(inside, linkStatOf) && inside]);
  const content = candidates.find((candidate) => isFolder(join(candidate, "examples"), linkStatOf));
  if (content !== undefined) {
    const root = basename(content) === SPIDER_CONTENT ? dirname(content) : content;
    return { form: "examples", name: basename(root), root, content };
  }
  const [task] = isFolder(folder, statOf) ? harborFolders(folder, HARBOR_DEPTH) : [];
  if (task !== undefined) return { form: "harbor", name: basename(folder), root: folder, content: folder };
  throw new UserError(
    "suite_missing",
    `${path} is not a task suite: it contains neither a folder examples/ nor Harbor task folders.`,
    "Pass the folder that contains examples/<tool>/<id>/<id>.json or <id>/task.toml.",
  );
}

/** Maximum depth of tasks below a dataset's folder. */
const HARBOR_DEPTH = 4;

/** Yields the folders of Harbor tasks in a folder, sorted by path. The folder itself can be a task. */
function* harborFolders(folder: string, depth: number): Generator<string> {
  if (stateOf(join(folder, "task.toml")) === "file") yield folder;
  else if (depth > 0) for (const name of foldersIn(folder)) yield* harborFolders(join(folder, name), depth - 1);
}

/**
 * Returns the files of Harbor tasks. A task's tool is its parent folder, if that folder is inside the suite's folder.
 */
export function findHarborTasks(suite: SuiteFolder): TaskFilePath[] {
  return [...harborFolders(suite.root, HARBOR_DEPTH)].map((folder) => ({
    tool: relative(suite.root, dirname(folder)).replace(/^\.\.$/, "") || suite.name,
    folder,
    folderName: basename(folder),
    file: join(folder, "task.toml"),
  }));
}

/** Returns a path for a finding. */
export function pathInSuite(suite: SuiteFolder, path: string): string {
  return relative(suite.root, path);
}

function isFolder(path: string, look: typeof statOf): boolean {
  return look(path)?.isDirectory() ?? false;
}

/** Returns a field's path in the usual notation: `config[0].func`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : `${text}${text === "" ? "" : "."}${String(part)}`),
    "",
  );
}
