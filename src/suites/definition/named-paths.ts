import type { JsonValue } from "../../domain/json.js";
import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import type { LocatedCall } from "./located-call.js";
import type { ReadTask } from "./read-task.js";

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
