// What a task needs from this machine, and whether it can run here.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../platform/json.js";
import type { TaskMachines } from "../sandbox/task-machine.js";
import type { Obstacle, SuiteDialect, SuiteTask } from "../tasks/suite-task.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./functions/custom-functions.js";
import { evaluationNeed, type FunctionNeed } from "./functions/function-table.js";
import { findUnsupported, NEEDS_DOCKER, UNSUPPORTED } from "./harbor/harbor-task.js";
import type { SuiteOracle } from "./oracle.js";
import { ACCOUNT_TAG, fileStateOf, type SuiteFolder } from "./suite-folder.js";
import { type AccountSettings, findMissingAccount, settingsName } from "./task/account-settings.js";
import { resolveSharedFile, resolveSuiteFile, UnusableSuiteFile } from "./task/suite-files.js";
import { callsOf, type LocatedCall, type ReadTask } from "./task/task-file.js";
import { findSetupFunction } from "./task/task-setup.js";

/**
 * A path in a task's functions. `input`, `script` and `gold` are suite files, `settings` are account settings, `upload`
 * is the target of a file in the machine, and `result` is a file that the agent creates there.
 */
export interface NamedPath {
  readonly kind: "input" | "script" | "gold" | "settings" | "upload" | "result";
  readonly path: string;
  readonly field: string;
  readonly call: LocatedCall;
}

/**
 * Whether a task can run on this machine, and how it is graded: by `files`, by a `script` in its machine, or by the
 * answer to a question about a `mailbox`. Other tasks need a `screen`, a `server`, an `account` or `docker`, use an
 * `unsupported` or `unknown` function, or have no function that grades them (`none`).
 */
export type TaskRequirement = FunctionNeed | "docker" | "unknown" | "none";

/** Everything on this machine that is needed to run tasks. */
export interface TaskSources {
  readonly suite: SuiteFolder;
  readonly machines: TaskMachines;
  /** Sources for tasks tagged `account`, which cannot run without them. */
  readonly accounts?: AccountSettings | undefined;
  readonly custom?: CustomFunctions | undefined;
  /** For runs of the agent `oracle`. */
  readonly oracle?: SuiteOracle | undefined;
}

export function namedPaths({ task, calls }: Pick<ReadTask, "task" | "calls">): NamedPath[] {
  return calls.flatMap((call) => pathsIn(call.arguments, call.argumentsField, "", call, task.dialect));
}

/** Returns the strings in a function's arguments, at any depth, that are paths. */
function pathsIn(value: JsonValue, field: string, key: string, call: LocatedCall, dialect: SuiteDialect): NamedPath[] {
  if (typeof value === "string") {
    const kind = dialect === "flowbook" ? flowbookKind(key, call) : spiderKind(key, value, call);
    return kind === null ? [] : [{ kind, path: value, field, call }];
  }
  if (Array.isArray(value)) {
    // The functions in a Flowbook comparison are separate calls.
    if (dialect === "flowbook" && key === "comparisons") return [];
    return value.flatMap((item: JsonValue, i) => pathsIn(item, `${field}[${i}]`, key, call, dialect));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => pathsIn(item, `${field}.${name}`, name, call, dialect));
}

function flowbookKind(key: string, { func, role }: LocatedCall): NamedPath["kind"] | null {
  if (role === "config") {
    if (key === "local_path") return func.includes("script") ? "script" : "input";
    return key === "remote_path" ? "upload" : null;
  }
  if (key === "eval_script") return "script";
  if (key.startsWith("local_")) return "gold";
  return key.startsWith("vm_") ? "result" : null;
}

const SETTINGS = /^(settings?_file|config_file)$/;

/** Folder of files that functions write during setup. */
const CACHE = "cache/";

function spiderKind(key: string, path: string, { func, role }: LocatedCall): NamedPath["kind"] | null {
  if (SETTINGS.test(key) || settingsName(path) !== null) return "settings";
  const isCopy = func === "copyfile_from_host_to_guest";
  if (key === "dest") return isCopy || func === "script_and_execute" ? "upload" : null;
  if (key === "path" && func === "vm_file") return "result";
  if (key === "path" && func === "local_file") return "gold";
  if (path.startsWith(CACHE) || /^https?:/.test(path)) return null;
  if (key === "src") {
    if (isCopy) return role === "postconfig" ? "gold" : "input";
    return func === "script_and_execute" || role === "result" ? "script" : "input";
  }
  return path.startsWith("evaluation_examples/") ? "input" : null;
}

/** Returns a function's requirement, or null if the function is unknown. Skipped setup functions need nothing. */
export function needOf(
  { role, func }: LocatedCall,
  dialect: SuiteDialect,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): FunctionNeed | null {
  if (role === "metric") return custom.evaluation.has(func) ? "files" : evaluationNeed(dialect, "evaluation", func);
  if (role === "result" || role === "expected") {
    return custom.getters.has(func) ? "files" : evaluationNeed(dialect, "getter", func);
  }
  const setupFunction = findSetupFunction(dialect, func, custom);
  return setupFunction?.isPassedOver ? "files" : (setupFunction?.need ?? null);
}

export function classifyTask({ task, calls, findings }: ReadTask, custom?: CustomFunctions): TaskRequirement {
  if (task.evaluation === null) return "none";
  if (findings.some(({ code }) => code === UNSUPPORTED)) return "unsupported";
  if (findings.some(({ code }) => code === NEEDS_DOCKER)) return "docker";
  const needs = calls.map((call) => ({ role: call.role, need: needOf(call, task.dialect, custom) }));
  if (needs.some(({ need }) => need === null)) return "unknown";
  const isNeeded = (required: FunctionNeed) => needs.some(({ need }) => need === required);
  if (isNeeded("account") || task.tags.includes(ACCOUNT_TAG)) return "account";
  if (isNeeded("server") || task.relatedApps.includes("docker")) return "server";
  if (isNeeded("screen")) return "screen";
  if (isNeeded("unsupported")) return "unsupported";
  // A script that only sets up the machine does not grade the task.
  const byScript = needs.some(({ role, need }) => need === "script" && role !== "config" && role !== "postconfig");
  if (byScript) return "script";
  return needs.some(({ role, need }) => role === "metric" && need === "mailbox") ? "mailbox" : "files";
}

/** Returns whether a task is set up or graded in a machine. A task that only asks about a mailbox needs none. */
export function needsMachine({ dialect, config, evaluation }: SuiteTask): boolean {
  const needs = [
    ...config.map(({ func }) => findSetupFunction(dialect, func)?.need),
    ...(evaluation?.metrics ?? []).map(({ func }) => evaluationNeed(dialect, "evaluation", func)),
  ];
  return evaluation === null || needs.some((need) => need !== "mailbox");
}

/** Returns why a task cannot run on this machine, as far as known before anything starts, or null if it can. */
export async function findObstacle(task: SuiteTask, sources: TaskSources): Promise<Obstacle | null> {
  const { suite, machines, accounts, custom, oracle } = sources;
  const calls = callsOf(task);
  if (oracle?.hasLine(task) === false) {
    return { state: "no_oracle", reason: "the oracle file has no line for this task" };
  }
  const unsupported = task.dialect === "harbor" ? findUnsupported(task.folder) : null;
  if (unsupported !== null) return { state: "unsupported", reason: unsupported };
  const missing = findMissingAccount(task, accounts);
  if (missing !== null) return { state: "needs_account", reason: missing };
  const files = () => findUnusableFiles(task, calls, suite, custom);
  const scripts = () => readScripts(task, calls, suite);
  const machine = async () => (needsMachine(task) ? machines.findObstacle(task.snapshot, scripts()) : null);
  return findCallObstacle(calls, task.dialect, custom) ?? (await files()) ?? (await machine());
}

const WHY: Readonly<Partial<Record<FunctionNeed, Obstacle>>> = {
  account: { state: "needs_account", reason: "needs an account" },
  server: { state: "needs_server", reason: "needs a server" },
  screen: { state: "unsupported", reason: "needs a screen" },
  unsupported: { state: "unsupported", reason: "is unsupported" },
};

/** Returns the first function that cannot run. As in Spider2-V, a `postconfig` function does not prevent grading. */
export function findCallObstacle(
  calls: readonly LocatedCall[],
  dialect: SuiteDialect,
  custom: CustomFunctions | undefined,
): Obstacle | null {
  for (const call of calls) {
    // As in Flowbook, an unknown function that is one of several combined comparisons scores 0.
    if (call.role === "postconfig" || call.argumentsField.includes("comparisons")) continue;
    const need = needOf(call, dialect, custom);
    const why = need === null ? { state: "unsupported" as const, reason: "is unknown" } : WHY[need];
    if (why !== undefined) return { state: why.state, reason: `${describeCall(call, calls)} ${why.reason}` };
  }
  return null;
}

function describeCall(call: LocatedCall, calls: readonly LocatedCall[]): string {
  if (call.role === "config") return `setup step ${calls.indexOf(call) + 1}, ${call.func}:`;
  return `${call.role === "metric" ? "evaluation function" : "getter"} ${call.func}`;
}

/**
 * Finds files in the task's functions that are missing or outside of the suite. Does not check files of the user's own
 * functions.
 */
async function findUnusableFiles(
  task: SuiteTask,
  calls: readonly LocatedCall[],
  suite: SuiteFolder,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): Promise<Obstacle | null> {
  const isOwn = ({ func }: LocatedCall) =>
    [custom.setUp, custom.evaluation, custom.getters].some((own) => own.has(func));
  const folder = folderOf(task, suite);
  const isFlowbook = task.dialect === "flowbook";
  const files = filesOf(task, calls).filter(({ call }) => !isOwn(call));
  const missing: string[] = [];
  for (const path of new Set(files.map((file) => file.path))) {
    try {
      const resolved = isFlowbook ? await resolveSuiteFile(folder, path) : await resolveSharedFile(folder, path);
      if (resolved === null) missing.push(path);
    } catch (error) {
      if (error instanceof UnusableSuiteFile) return { state: "missing_files", reason: error.message };
      throw error;
    }
  }
  if (missing.length === 0) return null;
  const where = isFlowbook ? "the task's folder" : "the suite";
  return { state: "missing_files", reason: `${missing.join(", ")}: missing from ${where}` };
}

/** Flowbook's paths are relative to the task's folder, and Spider2-V's to the suite's root. */
const folderOf = (task: SuiteTask, { root }: SuiteFolder) => (task.dialect === "flowbook" ? task.folder : root);

function filesOf(task: SuiteTask, calls: readonly LocatedCall[]): NamedPath[] {
  return namedPaths({ task, calls }).filter(({ kind }) => kind === "input" || kind === "script" || kind === "gold");
}

/** Returns the paths of a Spider2-V task's files, relative to the suite's root. Flowbook's are in the task's folder. */
export function suiteFilesOf(task: SuiteTask): string[] {
  if (task.dialect !== "spider2v") return [];
  return filesOf(task, callsOf(task)).map(({ path }) => path);
}

function readScripts(task: SuiteTask, calls: readonly LocatedCall[], suite: SuiteFolder): string[] {
  const folder = folderOf(task, suite);
  return filesOf(task, calls)
    .filter(({ kind, path }) => kind === "script" && fileStateOf(folder, path) === "file")
    .map(({ path }) => readFileSync(join(folder, path), "utf8"));
}
