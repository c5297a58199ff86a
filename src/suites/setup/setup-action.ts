import type { JsonObject } from "../../domain/json.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import type { CommandResult, TaskMachine } from "../../domain/tasks/task-machine.js";
import type { AccountSettings } from "../accounts/account-settings.js";
import type { CustomFunctions } from "../custom/custom-functions.js";

/** What an action may use. */
export interface SetupContext {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly options: {
    readonly suiteRoot: string;
    /** Sleeps are multiplied by it; 1. */
    readonly timeScale?: number;
    readonly accounts?: AccountSettings | undefined;
    readonly custom?: CustomFunctions | undefined;
  };
  readonly signal: AbortSignal;
}

/**
 * `passed_over`: it is for a screen, and the task goes on without; `failed`: it was tried; `unsupported`: what it
 * needs is not here.
 */
export interface ActionOutcome {
  readonly state: "done" | "passed_over" | "failed" | "unsupported";
  /** In a few words; empty where it is done. */
  readonly reason: string;
}

/** A function of `config` or `postconfig`. What it throws is a failure too. */
export type SetupAction = (args: JsonObject, context: SetupContext) => Promise<ActionOutcome>;

export const DONE: ActionOutcome = { state: "done", reason: "" };

export const NEEDS_SCREEN: ActionOutcome = { state: "passed_over", reason: "needs a screen" };

export const NEEDS_COMMANDS: ActionOutcome = { state: "unsupported", reason: "needs a machine that runs commands" };

/** `where`: the suite, or the task's folder. */
export function missingFile(path: string, where: string): ActionOutcome {
  return { state: "unsupported", reason: `needs ${path}, which is missing in ${where}` };
}

/** How a command that was to succeed ended. */
export function outcomeOf(argv: readonly string[], { exitCode, stdout, stderr }: CommandResult): ActionOutcome {
  if (exitCode === 0) return DONE;
  const said = lastLine(stderr) || lastLine(stdout);
  const ended = exitCode === null ? "reached its time limit" : `ended with exit code ${exitCode}`;
  return { state: "failed", reason: `${argv.join(" ")} ${ended}${said === "" ? "" : `: ${said}`}` };
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.trim() ?? "";
}
