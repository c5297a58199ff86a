// Checks a suite folder and reports each problem with its file and field. Runs nothing.
import { existsSync, readdirSync } from "node:fs";
import { basename, join, posix, relative } from "node:path";
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";
import { compact } from "../platform/optional-values.js";
import { checkSnapshots, readSnapshots, type Snapshot } from "../sandbox/machine-snapshots.js";
import type { SuiteDialect } from "../tasks/suite-task.js";
import { INSTRUCTION_STYLES } from "../tasks/task-groups.js";
import { counted } from "../text/format.js";
import { argumentProblems } from "./check-suite/check-arguments.js";
import { ATTACH_INBOX, EMAIL_ANSWER } from "./email-task.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./functions/custom-functions.js";
import type { FunctionNeed } from "./functions/function-table.js";
import { customFunctions } from "./functions/load-custom-functions.js";
import {
  ACCOUNT_TAG,
  type FileState,
  type FindingLevel,
  fileStateOf,
  openSuiteFolder,
  parseIndexFile,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
} from "./suite-folder.js";
import { readSettingsState, type SettingsState, TEMPLATE_ENDING } from "./task/account-settings.js";
import { type LocatedCall, type ReadSuite, type ReadTask, readSuite } from "./task/task-file.js";
import { findSetupFunction } from "./task/task-setup.js";
import { type NamedPath, namedPaths, needOf, needsMachine } from "./task-needs.js";

export interface SuiteCheck {
  readonly suite: string;
  /** Number of readable tasks. */
  readonly tasks: number;
  readonly errors: readonly SuiteFinding[];
  readonly warnings: readonly SuiteFinding[];
  /** Snapshots of the suite's tasks that are not available on this machine. */
  readonly notReady: readonly { readonly snapshot: string; readonly tasks: number; readonly why: string }[];
}

/** Everything that a check of one task can use. */
interface CheckContext {
  readonly suite: SuiteFolder;
  readonly tasks: readonly ReadTask[];
  readonly byId: ReadonlyMap<string, ReadTask>;
  /** The user's functions, in addition to the dialect's. */
  readonly custom: CustomFunctions;
  /** Snapshots by name, or null if they could not be read or are not checked. */
  readonly snapshots: ReadonlyMap<string, unknown> | null;
}

/** A check of one task. */
type TaskCheck = (read: ReadTask, context: CheckContext) => SuiteFinding[];

type PathCheck = (
  namedPath: NamedPath,
  paths: readonly NamedPath[],
  read: ReadTask,
  context: CheckContext,
) => SuiteFinding[];

const MEANINGS = { input: "input", script: "script", gold: "gold file" } as const;

type FilePath = NamedPath & { readonly kind: keyof typeof MEANINGS };

/** Checks a suite folder. `functions` is the path of the user's module. */
export async function checkSuiteFolder(folder: string, functions: string | undefined): Promise<SuiteCheck> {
  const read = readSuite(openSuiteFolder(folder));
  const snapshots = await readSnapshots(read.suite.root).catch((error: unknown) => {
    if (error instanceof UserError) return error;
    throw error;
  });
  const isBroken = snapshots instanceof UserError;
  const findings = checkSuite(read, await customFunctions(functions), isBroken ? null : snapshots);
  if (isBroken) {
    const at = { task: null, file: "snapshots.json", field: "" };
    findings.unshift({ level: "error", code: "snapshots_invalid", ...at, message: snapshots.message });
  }
  return {
    suite: read.suite.name,
    tasks: read.tasks.length,
    errors: findings.filter(({ level }) => level === "error"),
    warnings: findings.filter(({ level }) => level === "warning"),
    notReady: isBroken ? [] : await snapshotsNotReady(read.tasks, snapshots),
  };
}

async function snapshotsNotReady(
  tasks: readonly ReadTask[],
  snapshots: ReadonlyMap<string, Snapshot>,
): Promise<SuiteCheck["notReady"]> {
  const names = tasks.filter(({ task }) => needsMachine(task)).map(({ task }) => task.snapshot);
  const used = [...new Set(names)].flatMap((name) => snapshots.get(name) ?? []);
  const { snapshots: statuses } = await checkSnapshots(used);
  return statuses
    .filter(({ ready }) => !ready)
    .map(({ name, why }) => ({
      snapshot: name,
      tasks: names.filter((one) => one === name).length,
      why: why ?? "",
    }));
}

/** Returns all problems with a suite that are visible in its files. Unreadable files come first. */
export function checkSuite(
  { suite, tasks, problems }: ReadSuite,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
  snapshots: ReadonlyMap<string, unknown> | null = null,
): SuiteFinding[] {
  const byId = new Map<string, ReadTask>();
  for (const read of tasks) if (!byId.has(read.task.id)) byId.set(read.task.id, read);
  const context: CheckContext = { suite, tasks, byId, custom, snapshots };
  const checks = suite.form === "harbor" ? HARBOR_CHECKS : TASK_CHECKS;
  const ofTasks = tasks.flatMap((read) => [...read.findings, ...checks.flatMap((check) => check(read, context))]);
  return [...problems, ...ofTasks, ...checkIndexes(suite, tasks), ...checkSettings(suite, tasks)];
}

/** Returns functions that create findings about one task. */
function findingsOf({ task, path }: ReadTask, { suite }: CheckContext) {
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

const checkDuplicates: TaskCheck = (read, context) => {
  const first = context.byId.get(read.task.id);
  if (first === undefined || first === read) return [];
  const message = `is also the id of ${pathInSuite(context.suite, first.path.file)}`;
  return [findingsOf(read, context).error("id_duplicate", "id", message)];
};

/** Checks that the id, the folder and the file have the same name, and that no other task has that name. */
const checkIdentity: TaskCheck = (read, context) => {
  const { task, path } = read;
  const { error } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  if (task.id !== path.folderName) {
    findings.push(error("id_differs", "id", `is ${task.id}, but the task's folder is ${path.folderName}`));
  }
  if (basename(path.file) !== `${path.folderName}.json`) {
    const message = `is in ${basename(path.file)}, expected ${path.folderName}.json`;
    findings.push(error("file_name_differs", "", message));
  }
  return [...findings, ...checkDuplicates(read, context)];
};

/** Checks that no field used by the analysis is misspelled or missing. */
const checkFields: TaskCheck = (read, context) => {
  const { warning } = findingsOf(read, context);
  const { actionNumber, counterpart } = read.task;
  const findings: SuiteFinding[] = read.unknownFields.map((name) =>
    warning("field_unknown", name, "is not a field of the task format"),
  );
  // Questions about mail do not have these fields.
  if (!needsMachine(read.task)) return findings;
  if (actionNumber === null && context.tasks.some(({ task }) => task.actionNumber !== null)) {
    findings.push(warning("field_missing", "action_number", "is missing, so the task has no difficulty"));
  }
  if (counterpart === null && context.tasks.some(({ task }) => task.counterpart !== null)) {
    findings.push(
      warning("field_missing", "counterpart", "is missing, so the task is not paired (abstract and verbose)"),
    );
  }
  return findings;
};

/** Tags that the task format defines. */
const INTERFACE_TAGS = ["cli", "gui", "cli+gui"] as const;
const DOMAIN_TAGS = [
  "data_warehousing",
  "data_transformation",
  "data_ingestion_and_integration",
  "data_analysis_and_visualization",
  "data_orchestration",
  "traditional_data_processing",
  "it_service_management",
] as const;

const KNOWN_TAGS = new Set<string>([...INTERFACE_TAGS, ...INSTRUCTION_STYLES, ...DOMAIN_TAGS, ACCOUNT_TAG]);

/**
 * Checks that a task has one interface, one guidance and one domain tag, the tag account if needed, and no unknown tag.
 */
const checkTags: TaskCheck = (read, context) => {
  const { tags, dialect } = read.task;
  // The tag vocabulary is only for tasks that use a machine.
  if (!needsMachine(read.task)) return [];
  const { warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  for (const [i, tag] of tags.entries()) {
    if (KNOWN_TAGS.has(tag)) continue;
    findings.push(warning("tag_unknown", `tags[${i}]`, `${tag} is not a tag of the task format`));
  }
  const kinds = [
    ["interface", INTERFACE_TAGS],
    ["guidance", INSTRUCTION_STYLES],
    ["domain", DOMAIN_TAGS],
  ] as const;
  for (const [kind, allowedTags] of kinds) {
    const count = tags.filter((tag) => (allowedTags as readonly string[]).includes(tag)).length;
    // Custom tasks do not need tags. Require a kind of tag only if the suite uses it.
    const isUsed = context.tasks.some(({ task }) =>
      task.tags.some((tag) => (allowedTags as readonly string[]).includes(tag)),
    );
    if (count === 1 || !isUsed) continue;
    const message = `has ${count === 0 ? "no" : count} ${kind} tags, expected one of ${allowedTags.join(", ")}`;
    findings.push(warning("tag_count", "tags", message));
  }
  const needsAccount = read.calls.find((call) => needOf(call, dialect, context.custom) === "account");
  if (needsAccount !== undefined && !tags.includes(ACCOUNT_TAG)) {
    const message = `the tag ${ACCOUNT_TAG} is missing: ${needsAccount.func} needs account settings, which only tasks with the tag get`;
    findings.push(warning("tag_account_missing", "tags", message));
  }
  return findings;
};

/** Checks that each task's counterpart is another task that refers back and has the other guidance. */
const checkCounterpart: TaskCheck = (read, context) => {
  const { id, counterpart, tags } = read.task;
  if (counterpart === null) return [];
  const { error, warning } = findingsOf(read, context);
  if (counterpart === id) {
    const namedBy = context.tasks.find(({ task }) => task.counterpart === id && task.id !== id)?.task.id;
    const hint = namedBy === undefined ? "" : `; probably ${namedBy} is meant, which refers to this task`;
    return [error("counterpart_self", "counterpart", `is the task itself${hint}`)];
  }
  const other = context.byId.get(counterpart)?.task;
  if (other === undefined) return [error("counterpart_missing", "counterpart", `${counterpart} is not in the suite`)];
  const findings: SuiteFinding[] = [];
  if (other.counterpart !== id) {
    const target = other.counterpart === counterpart ? "itself" : (other.counterpart ?? "none");
    const message = `${counterpart} does not refer back: its counterpart is ${target}`;
    findings.push(error("counterpart_not_mutual", "counterpart", message));
  }
  const shared = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag) && other.tags.includes(tag));
  if (shared.length > 0) {
    const message = `${counterpart} is also ${shared.join(" and ")}, but a pair has one abstract and one verbose task`;
    findings.push(warning("counterpart_same_guidance", "counterpart", message));
  }
  return findings;
};

const KINDS: Readonly<Record<LocatedCall["role"], string>> = {
  config: "a setup function",
  postconfig: "a setup function",
  metric: "an evaluation function",
  result: "a getter",
  expected: "a getter",
};

const ORIGINS: Readonly<Record<SuiteDialect, string>> = {
  flowbook: "Flowbook",
  spider2v: "Spider2-V",
  harbor: "Harbor",
};

/** Checks that every function is known, and lists those with requirements that this machine does not meet. */
const checkFunctions: TaskCheck = (read, context) => {
  const { task, calls, skipped } = read;
  const { custom } = context;
  const { error, warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  const needing = (need: FunctionNeed | null) => calls.filter((call) => needOf(call, task.dialect, custom) === need);
  for (const call of needing(null)) {
    const other: SuiteDialect = task.dialect === "flowbook" ? "spider2v" : "flowbook";
    const hint = needOf(call, other) === null ? "" : `; ${ORIGINS[other]} has one, but in a different task format`;
    const message = `${call.func} is not ${KINDS[call.role]} of ${ORIGINS[task.dialect]}${hint}`;
    findings.push(error("function_unknown", call.funcField, message));
  }
  for (const call of skipped) {
    const message = `${call.func} is skipped, as in Flowbook, which reads {func, arguments}`;
    findings.push(warning("function_old_spelling", call.funcField, message));
  }
  for (const need of ["account", "server", "screen"] as const) {
    const [first] = needing(need);
    if (first === undefined) continue;
    const message = `${named(needing(need))}: needs ${need === "account" ? "an" : "a"} ${need}`;
    findings.push(warning(`needs_${need}`, first.funcField, message));
  }
  for (const { func, funcField } of needing("unsupported")) {
    findings.push(warning("function_unsupported", funcField, `${func} is unsupported`));
  }
  const windows = calls.filter(
    ({ role, func }) => isSetup(role) && findSetupFunction(task.dialect, func, custom)?.isPassedOver,
  );
  const [first] = windows;
  if (first !== undefined) {
    const message = `${named(windows)}: needs a screen, and is skipped without one`;
    findings.push(warning("screen_passed_over", first.funcField, message));
  }
  if (task.evaluation === null) {
    findings.push(
      warning("evaluation_missing", "evaluation", "is missing or has no function, so the task has no score"),
    );
  }
  return findings;
};

const isSetup = (role: LocatedCall["role"]) => role === "config" || role === "postconfig";

const named = (calls: readonly LocatedCall[]) => [...new Set(calls.map(({ func }) => func))].join(", ");

/**
 * Checks that paths in the machine are absolute, that paths in the machine and in the suite are not swapped, and that
 * results are expected in the folder of the uploads.
 */
const checkMachinePaths: TaskCheck = (read, context) => {
  const paths = namedPaths(read);
  return paths.flatMap((namedPath) => {
    if (!isInMachine(namedPath)) return [];
    return [
      ...checkAbsolute(namedPath, paths, read, context),
      ...(namedPath.kind === "result"
        ? [...checkUploadFolder(namedPath, paths, read, context), ...checkSwappedFiles(namedPath, paths, read, context)]
        : []),
    ];
  });
};

/**
 * Checks for a relative path in the machine. If there is an absolute path for a suite file next to it, the two are
 * swapped.
 */
const checkAbsolute: PathCheck = (namedPath, paths, read, context) => {
  if (isAbsolute(namedPath.path)) return [];
  const { error, warning } = findingsOf(read, context);
  const swapped = paths.find((other) => isFilePath(other) && isSamePair(other, namedPath) && isAbsolute(other.path));
  if (swapped !== undefined) {
    const message = `${namedPath.path} is not a path in the machine, but ${swapped.path} is. Are the arguments swapped?`;
    return [error("arguments_swapped", namedPath.field, message)];
  }
  return [
    warning("machine_path_relative", namedPath.field, `${namedPath.path} is not an absolute path in the machine`),
  ];
};

/** Checks for a result with the file name of an upload, but in a different folder. */
const checkUploadFolder: PathCheck = (result, paths, read, context) => {
  const uploads = paths.filter(
    ({ kind, call, path }) => kind === "upload" && call.role === "config" && nameOf(path) === nameOf(result.path),
  );
  const [first] = uploads;
  if (first === undefined || uploads.some(({ path }) => path === result.path)) return [];
  const message = `${result.path} is expected, but the file of this name is uploaded to ${first.path}`;
  return [findingsOf(read, context).warning("result_elsewhere", result.field, message)];
};

/**
 * Checks for a gold file that is uploaded, together with a result that has the name of another task file that is not
 * uploaded.
 */
const checkSwappedFiles: PathCheck = (result, paths, read, context) => {
  const uploaded = new Set(
    paths.filter(({ kind, call }) => kind === "input" && call.role === "config").map(({ path }) => nameOf(path)),
  );
  const gold = paths.find((other) => other.kind === "gold" && isSamePair(other, result));
  const name = nameOf(result.path);
  if (gold === undefined || !uploaded.has(nameOf(gold.path)) || uploaded.has(name)) return [];
  if (fileStateOf(read.path.folder, name) !== "file") return [];
  const message = `${gold.path} is uploaded at the start, and ${name} is in the task's folder: the two look swapped`;
  return [findingsOf(read, context).warning("arguments_swapped", gold.field, message)];
};

const nameOf = (path: string) => posix.basename(path);
const isAbsolute = (path: string) => path.startsWith("/") || path.startsWith("~/");
const isInMachine = ({ kind }: NamedPath) => kind === "result" || kind === "upload";
const isFilePath = (namedPath: NamedPath): namedPath is FilePath => namedPath.kind in MEANINGS;

/** Returns whether two paths are arguments of one function, or belong to the two getters of one comparison. */
const isSamePair = (a: NamedPath, b: NamedPath) =>
  a.call === b.call || (a.call.metric !== null && a.call.metric === b.call.metric && isGetter(a) && isGetter(b));

const isGetter = ({ call }: NamedPath) => call.role === "result" || call.role === "expected";

const FAULTS: Readonly<Record<FileState, { readonly code: string; readonly message: string } | null>> = {
  file: null,
  folder: { code: "file_is_folder", message: "is a folder" },
  missing: { code: "file_missing", message: "is not in %" },
  outside: { code: "path_outside", message: "is outside of %" },
  link: { code: "file_is_link", message: "is reached through a link, which is not followed" },
  special: { code: "file_is_special", message: "is not a regular file" },
};

/** Checks that the inputs, scripts and gold files of a task are regular files in the suite. */
const checkFiles: TaskCheck = (read, context) => {
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

/**
 * Checks that the result and the gold file have different destinations. Otherwise, a file would be compared with
 * itself.
 */
const checkDestinations: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const same = (field: string, name: string): SuiteFinding =>
    error("destination_equal", field, `the result is also saved as ${name}, so the score is always 1`);
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

/** Checks that an answer belongs to exactly one mailbox. */
const checkEmail: TaskCheck = (read, context) => {
  const { error } = findingsOf(read, context);
  const inboxes = read.calls.filter(({ func }) => func === ATTACH_INBOX);
  const answer = read.calls.find(({ func }) => func === EMAIL_ANSWER);
  const second = inboxes[1];
  return compact([
    answer !== undefined &&
      inboxes.length === 0 &&
      error("inbox_missing", answer.funcField, `${EMAIL_ANSWER} needs a mailbox: add ${ATTACH_INBOX} to config`),
    second !== undefined && error("inbox_twice", second.funcField, "a task has only one mailbox, the first"),
  ]);
};

/** Checks that arguments are present, of the expected type and not misspelled. */
const checkArguments: TaskCheck = (read, context) => {
  const { error, warning } = findingsOf(read, context);
  const { setUp, evaluation, getters } = context.custom;
  return read.calls
    .filter(({ func }) => ![setUp, evaluation, getters].some((own) => own.has(func)))
    .flatMap((call) => argumentProblems(call, read.task.dialect))
    .map(({ level, code, field, message }) => (level === "error" ? error : warning)(code, field, message));
};

/** Checks that a task's snapshot exists. */
const checkSnapshot: TaskCheck = (read, { snapshots, ...context }) => {
  const { snapshot } = read.task;
  if (snapshots === null || !needsMachine(read.task) || snapshots.has(snapshot)) return [];
  const hint =
    didYouMean(snapshot, snapshots.keys()).trim() || `Available: ${[...snapshots.keys()].sort().join(", ")}.`;
  const message = `unknown snapshot ${snapshot}. ${hint}`;
  return [findingsOf(read, { snapshots, ...context }).error("snapshot_unknown", "snapshot", message)];
};

const TASK_CHECKS: readonly TaskCheck[] = [
  checkIdentity,
  checkFields,
  checkTags,
  checkCounterpart,
  checkFunctions,
  checkArguments,
  checkSnapshot,
  checkFiles,
  checkDestinations,
  checkMachinePaths,
  checkEmail,
];

/** Checks for Harbor tasks, which do not have the fields of the task format. */
const HARBOR_CHECKS: readonly TaskCheck[] = [checkDuplicates];

/**
 * Checks that the index files next to `examples/` only list tasks that are in the suite. Other JSON files there are
 * allowed.
 */
function checkIndexes(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const indexIds = new Set(tasks.map(({ task, path }) => `${path.tool}/${task.id}`));
  const names = readdirSync(suite.content, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map(({ name }) => name)
    .sort();
  return names.flatMap((name): SuiteFinding[] => {
    const path = join(suite.content, name);
    const missing = (parseIndexFile(path) ?? []).filter(({ tool, id }) => !indexIds.has(`${tool}/${id}`));
    return missing.map(({ tool, id }) => ({
      level: "error",
      code: "index_task_unknown",
      task: null,
      file: pathInSuite(suite, path),
      field: tool,
      message: `${id} is not in examples/${tool}`,
    }));
  });
}

/** Returns account settings that are not filled in, although tasks use them or the suite has templates for them. */
function checkSettings(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const users = new Map<string, number>(templatesOf(suite).map((path) => [path, 0]));
  const outside: SuiteFinding[] = [];
  for (const read of tasks) {
    const settingsFiles = namedPaths(read).filter(({ kind }) => kind === "settings");
    for (const { path, field } of settingsFiles) {
      if (!["outside", "link"].includes(fileStateOf(suite.root, path))) continue;
      const at = { task: read.task.id, file: pathInSuite(suite, read.path.file), field };
      const message = `settings file ${path} is outside of the suite's folder, or is reached through a link`;
      outside.push({ level: "error", code: "path_outside", ...at, message });
    }
    for (const path of new Set(settingsFiles.map((one) => join(one.path)))) users.set(path, (users.get(path) ?? 0) + 1);
  }
  const findings = [...users].flatMap(([path, count]) => describeState(suite, path, count));
  return [...outside, ...findings];
}

function describeState(suite: SuiteFolder, path: string, users: number): SuiteFinding[] {
  if (["outside", "link"].includes(fileStateOf(suite.root, path))) return [];
  const settings = readSettingsState(join(suite.root, path));
  if (settings.state === "filled") return [];
  const needing = users === 0 ? "no task uses it" : `${counted(users, "task needs", "tasks need")} it`;
  const message = `${MESSAGES[settings.state]} (${needing})`;
  const field = settings.state === "placeholders" ? settings.fields.join(", ") : "";
  return [{ level: "warning", code: "settings_not_filled_in", task: null, file: path, field, message }];
}

const MESSAGES: Readonly<Record<Exclude<SettingsState["state"], "filled">, string>> = {
  template_only: `is not filled in: copy the template without its ending ${TEMPLATE_ENDING}, and fill it in`,
  placeholders: "is not filled in: these fields have the template's values",
  missing: "is missing, and has no template",
  unreadable: "is not JSON, even without its comments",
};

/** Returns the settings files that templates below `settings/` belong to, relative to the suite's root. */
function templatesOf(suite: SuiteFolder): string[] {
  const folder = join(suite.content, "settings");
  if (!existsSync(folder)) return [];
  // With `withFileTypes`, links are not followed.
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(TEMPLATE_ENDING))
    .map(({ parentPath, name }) => relative(suite.root, join(parentPath, name.slice(0, -TEMPLATE_ENDING.length))))
    .sort();
}
