import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../platform/json.js";
import type { TaskMachines } from "../sandbox/task-machine.js";
import type { FunctionCall, Obstacle, SuiteDialect, SuiteTask } from "../tasks/suite-task.js";
import { type AccountSettings, findMissingAccount, settingsName } from "./account-settings.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./custom-functions.js";
import { evaluationNeed, type FunctionNeed } from "./function-table.js";
import { findUnsupported, NEEDS_DOCKER, UNSUPPORTED } from "./harbor-task.js";
import type { SuiteOracle } from "./oracle.js";
import { findSetupFunction } from "./setup.js";
import { resolveSharedFile, resolveSuiteFile, UnusableSuiteFile } from "./suite-files.js";
import { ACCOUNT_TAG, fileStateOf, type SuiteFolder } from "./suite-folder.js";
import { type LocatedCall, locateComparisons, type ReadTask } from "./task-file.js";

/**
 * A path that a task's functions name. `input`, `script`, `gold`: files of the suite; `settings`: those of an account;
 * `upload`: where a file is put in the machine; `result`: where the agent leaves one there.
 */
export interface NamedPath {
  readonly kind: "input" | "script" | "gold" | "settings" | "upload" | "result";
  readonly path: string;
  readonly field: string;
  readonly call: LocatedCall;
}

export function namedPaths({ task, calls }: Pick<ReadTask, "task" | "calls">): NamedPath[] {
  return calls.flatMap((call) => pathsIn(call.arguments, call.argumentsField, "", call, task.dialect));
}

/** The strings of a function's arguments, at any depth, that are paths. */
function pathsIn(value: JsonValue, field: string, key: string, call: LocatedCall, dialect: SuiteDialect): NamedPath[] {
  if (typeof value === "string") {
    const kind = dialect === "flowbook" ? flowbookKind(key, call) : spiderKind(key, value, call);
    return kind === null ? [] : [{ kind, path: value, field, call }];
  }
  if (Array.isArray(value)) {
    // The functions within a Flowbook comparison are calls of their own.
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

/** Written by a function while the task is set up. */
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

/**
 * Whether a task can be run here, and by what it is graded: by `files`, by a `script` in its machine, by the answer
 * to a question about a `mailbox`. Others need a `screen`, a `server`, an `account` or `docker`, name an `unsupported`
 * or an `unknown` function, or have `none` to be graded by.
 */
export type TaskRequirement = FunctionNeed | "docker" | "unknown" | "none";

/** What a function needs; null: unknown. Set-up that is passed over needs nothing. */
export function needOf(
  { role, func }: LocatedCall,
  dialect: SuiteDialect,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): FunctionNeed | null {
  if (role === "metric") return custom.evaluation.has(func) ? "files" : evaluationNeed(dialect, "evaluation", func);
  if (role === "result" || role === "expected") {
    return custom.getters.has(func) ? "files" : evaluationNeed(dialect, "getter", func);
  }
  const known = findSetupFunction(dialect, func, custom);
  return known?.isPassedOver ? "files" : (known?.need ?? null);
}

export function classifyTask({ task, calls, findings }: ReadTask, custom?: CustomFunctions): TaskRequirement {
  if (task.evaluation === null) return "none";
  if (findings.some(({ code }) => code === UNSUPPORTED)) return "unsupported";
  if (findings.some(({ code }) => code === NEEDS_DOCKER)) return "docker";
  const needs = calls.map((call) => ({ role: call.role, need: needOf(call, task.dialect, custom) }));
  if (needs.some(({ need }) => need === null)) return "unknown";
  const isNeeded = (wanted: FunctionNeed) => needs.some(({ need }) => need === wanted);
  if (isNeeded("account") || task.tags.includes(ACCOUNT_TAG)) return "account";
  if (isNeeded("server") || task.relatedApps.includes("docker")) return "server";
  if (isNeeded("screen")) return "screen";
  if (isNeeded("unsupported")) return "unsupported";
  // A script that only sets the machine up does not grade.
  const byScript = needs.some(({ role, need }) => need === "script" && role !== "config" && role !== "postconfig");
  if (byScript) return "script";
  return needs.some(({ role, need }) => role === "metric" && need === "mailbox") ? "mailbox" : "files";
}

/** Whether a task is set up or graded in a machine. What only asks a question of a mailbox takes none. */
export function needsMachine({ dialect, config, evaluation }: SuiteTask): boolean {
  const needs = [
    ...config.map(({ func }) => findSetupFunction(dialect, func)?.need),
    ...(evaluation?.metrics ?? []).map(({ func }) => evaluationNeed(dialect, "evaluation", func)),
  ];
  return evaluation === null || needs.some((need) => need !== "mailbox");
}

/** What tasks are run with here. */
export interface TaskSources {
  readonly suite: SuiteFolder;
  readonly machines: TaskMachines;
  /** For tasks tagged `account`, which cannot be run without. */
  readonly accounts?: AccountSettings | undefined;
  readonly custom?: CustomFunctions | undefined;
  /** Of a run of the agent `oracle`. */
  readonly oracle?: SuiteOracle | undefined;
}

/** Why a task cannot be run here, as far as that can be told before anything is started; null: it can. */
export async function findObstacle(task: SuiteTask, sources: TaskSources): Promise<Obstacle | null> {
  const { suite, machines, accounts, custom, oracle } = sources;
  const calls = [...task.config.flatMap(locate("config", null)), ...evaluationCalls(task)];
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
  unsupported: { state: "unsupported", reason: "cannot be run here" },
};

/** The first function that cannot be run here. As at the origin, one of `postconfig` keeps no task from its grade. */
export function findCallObstacle(
  calls: readonly LocatedCall[],
  dialect: SuiteDialect,
  custom: CustomFunctions | undefined,
): Obstacle | null {
  for (const call of calls) {
    // Within a comparison of several, as at the origin, one that is not known scores 0.
    if (call.role === "postconfig" || call.argumentsField.includes("comparisons")) continue;
    const need = needOf(call, dialect, custom);
    const why = need === null ? { state: "unsupported" as const, reason: "is not known" } : WHY[need];
    if (why !== undefined) return { state: why.state, reason: `${describeCall(call, calls)} ${why.reason}` };
  }
  return null;
}

function describeCall(call: LocatedCall, calls: readonly LocatedCall[]): string {
  if (call.role === "config") return `set-up step ${calls.indexOf(call) + 1}, ${call.func}:`;
  return `${call.role === "metric" ? "evaluation function" : "getter"} ${call.func}`;
}

const locate = (role: LocatedCall["role"], metric: number | null) => (call: FunctionCall | null) =>
  call === null ? [] : [{ role, ...call, funcField: "", argumentsField: "", metric }];

/** The functions that grade a task. What its file spells them as is not known here. */
export function evaluationCalls({ evaluation }: Pick<SuiteTask, "evaluation">): LocatedCall[] {
  return [
    ...(evaluation?.postconfig ?? []).flatMap(locate("postconfig", null)),
    ...(evaluation?.metrics ?? []).flatMap(({ func, options, result, expected }, i) => [
      ...locateComparisons(func, options, ""),
      ...locate("result", i)(result),
      ...locate("expected", i)(expected),
    ]),
  ];
}

/**
 * Finds the suite files that the task's functions name and that are missing or outside of the suite. Files for the
 * user's own functions are the user's.
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
      const found = isFlowbook ? await resolveSuiteFile(folder, path) : await resolveSharedFile(folder, path);
      if (found === null) missing.push(path);
    } catch (error) {
      if (error instanceof UnusableSuiteFile) return { state: "missing_files", reason: error.message };
      throw error;
    }
  }
  if (missing.length === 0) return null;
  const where = isFlowbook ? "the task's folder" : "the suite";
  return { state: "missing_files", reason: `${missing.join(", ")}: missing in ${where}` };
}

/** Flowbook's paths are relative to the task's folder, Spider2-V's to the suite's root. */
const folderOf = (task: SuiteTask, { root }: SuiteFolder) => (task.dialect === "flowbook" ? task.folder : root);

function filesOf(task: SuiteTask, calls: readonly LocatedCall[]): NamedPath[] {
  return namedPaths({ task, calls }).filter(({ kind }) => kind === "input" || kind === "script" || kind === "gold");
}

/** Paths of the files that a Spider2-V task names, relative to the suite's root. Flowbook's are in the task's folder. */
export function suiteFilesOf(task: SuiteTask): string[] {
  if (task.dialect !== "spider2v") return [];
  const calls = [...task.config.flatMap(locate("config", null)), ...evaluationCalls(task)];
  return filesOf(task, calls).map(({ path }) => path);
}

function readScripts(task: SuiteTask, calls: readonly LocatedCall[], suite: SuiteFolder): string[] {
  const folder = folderOf(task, suite);
  return filesOf(task, calls)
    .filter(({ kind, path }) => kind === "script" && fileStateOf(folder, path) === "file")
    .map(({ path }) => readFileSync(join(folder, path), "utf8"));
}
