import type { SuiteTask } from "../../../domain/tasks/suite-task.js";
import { evaluationNeed } from "../../evaluation/function-table.js";
import { findSetupFunction } from "../../setup/setup-functions.js";

/** Whether a task is set up or graded in a machine. What only asks a question of a mailbox takes none. */
export function needsMachine({ dialect, config, evaluation }: SuiteTask): boolean {
  const needs = [
    ...config.map(({ func }) => findSetupFunction(dialect, func)?.need),
    ...(evaluation?.metrics ?? []).map(({ func }) => evaluationNeed(dialect, "evaluation", func)),
  ];
  return evaluation === null || needs.some((need) => need !== "mailbox");
}
