import type { JsonObject, JsonValue } from "../../domain/json.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import type { CommandResult } from "../../domain/tasks/task-machine.js";

/** What a user's function gets beside the arguments that the task's file gives it. */
export interface CustomContext {
  readonly task: SuiteTask;
  readonly machine: CustomMachine;
  /** The contents of account settings, by names such as `snowflake/settings.json`. Throws where they are not there. */
  accountSettings(name: string): string;
  readonly signal: AbortSignal;
  /** A folder outside of the machine for what is collected from it; null in set-up. */
  readonly workFolder: string | null;
  /** Spider2-V: what the getters gave, a value or the path of a collected file; null where there is none. */
  readonly result: JsonValue;
  readonly expected: JsonValue;
}

/** The task's machine, with defaults for what a command rarely says. */
export interface CustomMachine {
  copyIn(from: string, path: string): Promise<void>;
  copyOut(path: string, to: string): Promise<boolean>;
  run(argv: readonly string[], options?: CustomCommandOptions): Promise<CommandResult>;
}

export interface CustomCommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export type CustomFunction = (args: JsonObject, context: CustomContext) => unknown;

/** A user's functions by the names that tasks call them by. */
export interface CustomFunctions {
  readonly setUp: ReadonlyMap<string, CustomFunction>;
  /** Give a score from 0 to 1. */
  readonly evaluation: ReadonlyMap<string, CustomFunction>;
  /** Spider2-V: give a JSON value. */
  readonly getters: ReadonlyMap<string, CustomFunction>;
}

export const NO_CUSTOM_FUNCTIONS: CustomFunctions = { setUp: new Map(), evaluation: new Map(), getters: new Map() };
