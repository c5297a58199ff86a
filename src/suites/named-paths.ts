import type { JsonValue } from "../platform/json.js";
import type { SuiteDialect, SuiteTask } from "../tasks/suite-task.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./custom-functions.js";
import { evaluationNeed } from "./function-table.js";
import { NEEDS_DOCKER, UNSUPPORTED } from "./harbor-task.js";
import type { FunctionNeed } from "./machine-commands.js";
import { findSetupFunction } from "./setup.js";
import { ACCOUNT_TAG } from "./suite-folder.js";
import type { LocatedCall, ReadTask } from "./task-file.js";

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

export function namedPaths({ task, calls }: ReadTask): NamedPath[] {
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
  if (SETTINGS.test(key)) return "settings";
  const isCopy = func === "copyfile_from_host_to_guest";
  if (key === "dest") return isCopy || func === "script_and_execute" ? "upload" : null;
  if (key === "path" && func === "vm_file") return "result";
  if (key === "path" && func === "local_file") return "gold";
  if (path.startsWith(CACHE)) return null;
  if (key === "src") {
    if (isCopy) return role === "postconfig" ? "gold" : "input";
    return func === "script_and_execute" || role === "result" ? "script" : "input";
  }
  return path.startsWith("evaluation_examples/") ? "input" : null;
}

/**
 * Whether a task can be run here, and by what it is graded: by `files`, by a `script` in its machine, by the answer
 * to a question about a `mailbox`. Others need a `screen`, a `server`, an `account` or a container of `docker`, name
 * something `unsupported` or an `unknown` function, or have `none` to be graded by.
 */
const TASK_REQUIREMENTS = [
  "files",
  "script",
  "mailbox",
  "screen",
  "server",
  "account",
  "docker",
  "unsupported",
  "unknown",
  "none",
] as const;

export type TaskRequirement = (typeof TASK_REQUIREMENTS)[number];

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

export function classifyTask({ task, calls, findings }: ReadTask): TaskRequirement {
  if (task.evaluation === null) return "none";
  if (findings.some(({ code }) => code === UNSUPPORTED)) return "unsupported";
  if (findings.some(({ code }) => code === NEEDS_DOCKER)) return "docker";
  const needs = calls.map((call) => ({ role: call.role, need: needOf(call, task.dialect) }));
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
