import type { SuiteDialect } from "../../../domain/tasks/suite-task.js";
import { lookUpFunction } from "../../evaluation/function-table.js";
import type { FunctionNeed } from "./function-need.js";

/** What an evaluation function or a getter needs; null: there is none of that name. */
export function evaluationNeed(
  dialect: SuiteDialect,
  kind: "evaluation" | "getter",
  name: string,
): FunctionNeed | null {
  const known = lookUpFunction(dialect, kind, name);
  if (known === null || known.isImplemented) return known?.needs ?? null;
  // A process that is not the task's own is a server.
  if (known.needs === "process") return "server";
  return known.needs === "account" || known.needs === "screen" ? known.needs : "unsupported";
}
