import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import type { CommandResult, TaskMachine } from "../../domain/tasks/task-machine.js";
import type { AccountSettings } from "../accounts/account-settings.js";
import type { CustomCall } from "../custom/call-custom-function.js";
import type { CustomFunctions } from "../custom/custom-functions.js";
import { CannotGrade } from "./cannot-grade.js";

export interface EvaluationOptions {
  /** Holds what is collected; emptied by the caller. */
  readonly workFolder: string;
  readonly suiteRoot: string;
  /** The score of what the agent answered against a gold answer; absent: it answered nothing. */
  readonly scoreAnswer?: (gold: string) => number;
  /** Sleeps are multiplied by it; 1. */
  readonly timeScale?: number;
  readonly accounts?: AccountSettings | undefined;
  readonly custom?: CustomFunctions | undefined;
}

/** What a getter or a comparison may use. */
export interface EvaluationContext {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly options: EvaluationOptions;
  readonly signal: AbortSignal;
}

/** What a user's function gets of it. */
export function customCall({
  task,
  machine,
  signal,
  options: { accounts, workFolder },
}: EvaluationContext): CustomCall {
  return { task, machine, signal, accounts, workFolder };
}

/** Runs a command where the machine can. */
export async function runCommand(
  { machine, signal }: EvaluationContext,
  argv: readonly string[],
  timeoutMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  if (!machine.canRun)
    throw new CannotGrade("unsupported", `it runs ${argv.join(" ")}, and this machine only holds files`);
  return await machine.run({ argv, cwd: null, env, timeoutMs }, signal);
}
