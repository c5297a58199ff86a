import type { SuiteDialect } from "../../../domain/tasks/suite-task.js";
import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "../../custom/custom-functions.js";
import { evaluationNeed } from "../../evaluation/function-table.js";
import { findSetupFunction } from "../../setup/setup-functions.js";
import type { LocatedCall } from "../located-call.js";
import type { ReadTask } from "../read-task.js";
import { ACCOUNT_TAG } from "../vocabulary.js";
import type { FunctionNeed } from "./function-need.js";

/**
 * Whether a task can be run here, and by what it is graded: by `files`, by a `script` in its machine, by the answer
 * to a question about a `mailbox`. Others need a
 * `screen`, a `server` or an `account`, name an `unsupported` or an `unknown` function, or have `none` to be graded by.
 */
export const TASK_REQUIREMENTS = [
  "files",
  "script",
  "mailbox",
  "screen",
  "server",
  "account",
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

export function classifyTask({ task, calls }: ReadTask): TaskRequirement {
  if (task.evaluation === null) return "none";
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
