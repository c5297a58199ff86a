import type { SuiteDialect } from "../../../domain/tasks/suite-task.js";
import { findSetupFunction } from "../../setup/setup-functions.js";
import type { SuiteFinding } from "../finding.js";
import { needOf } from "../functions/task-requirement.js";
import type { LocatedCall } from "../located-call.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

const KINDS: Readonly<Record<LocatedCall["role"], string>> = {
  config: "set-up function",
  postconfig: "set-up function",
  metric: "evaluation function",
  result: "getter",
  expected: "getter",
};

const ORIGINS: Readonly<Record<SuiteDialect, string>> = { flowbook: "Flowbook", spider2v: "Spider2-V" };

/** Every function is known, and those that need what there is not here are named. */
export const checkFunctions: TaskCheck = (read, context) => {
  const { task, calls, skipped } = read;
  const { custom } = context;
  const { error, warning } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  for (const call of calls) {
    if (needOf(call, task.dialect, custom) !== null) continue;
    const other: SuiteDialect = task.dialect === "flowbook" ? "spider2v" : "flowbook";
    const hint = needOf(call, other) === null ? "" : `; ${ORIGINS[other]} has one, and writes its tasks otherwise`;
    const message = `${call.func} is no ${KINDS[call.role]} of ${ORIGINS[task.dialect]}${hint}`;
    findings.push(error("function_unknown", call.funcField, message));
  }
  for (const call of skipped) {
    const message = `${call.func} is passed over, as at the origin: Flowbook reads {func, arguments}`;
    findings.push(warning("function_old_spelling", call.funcField, message));
  }
  for (const need of ["account", "server", "screen"] as const) {
    const needing = calls.filter((call) => needOf(call, task.dialect, custom) === need);
    const [first] = needing;
    if (first === undefined) continue;
    const message = `${named(needing)}: needs ${need === "account" ? "an" : "a"} ${need}`;
    findings.push(warning(`needs_${need}`, first.funcField, message));
  }
  const unsupported = calls.filter((call) => needOf(call, task.dialect, custom) === "unsupported");
  for (const { func, funcField } of unsupported) {
    findings.push(warning("function_unsupported", funcField, `${func} cannot be run here`));
  }
  const windows = calls.filter(
    ({ role, func }) => isSetup(role) && findSetupFunction(task.dialect, func, custom)?.isPassedOver,
  );
  const [first] = windows;
  if (first !== undefined) {
    const message = `${named(windows)}: only for a screen, and passed over where there is none`;
    findings.push(warning("screen_passed_over", first.funcField, message));
  }
  if (task.evaluation === null) {
    findings.push(
      warning("evaluation_missing", "evaluation", "is missing or names no function: the task has no score"),
    );
  }
  return findings;
};

const isSetup = (role: LocatedCall["role"]) => role === "config" || role === "postconfig";

const named = (calls: readonly LocatedCall[]) => [...new Set(calls.map(({ func }) => func))].join(", ");
