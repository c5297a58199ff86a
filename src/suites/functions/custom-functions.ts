// Calls users' own suite functions, whose results can be anything.
import { type JsonObject, type JsonValue, jsonValueSchema } from "../../platform/json.js";
import type { CommandResult, TaskMachine } from "../../sandbox/task-machine.js";
import type { SuiteTask } from "../../tasks/suite-task.js";
import { type AccountSettings, readAccountSettings } from "../task/account-settings.js";

const COMMAND_MS = 300_000;

/** Context of a call to a user's function. */
export interface CustomCall {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly signal: AbortSignal;
  readonly accounts?: AccountSettings | undefined;
  readonly workFolder?: string;
  readonly result?: JsonValue;
  readonly expected?: JsonValue;
}

/** Second argument of a user's function, after the arguments from the task's file. */
interface CustomContext {
  readonly task: SuiteTask;
  readonly machine: CustomMachine;
  /** Returns the contents of an account settings file such as `snowflake/settings.json`. Throws if it is missing. */
  accountSettings(name: string): string;
  readonly signal: AbortSignal;
  /** Folder outside of the machine for files collected from it. Null during setup. */
  readonly workFolder: string | null;
  /** Spider2-V: the getters' result, a value, the path of a collected file, or null if missing. */
  readonly result: JsonValue;
  readonly expected: JsonValue;
}

/** The task's machine, with defaults for rarely used command options. */
interface CustomMachine {
  copyIn(from: string, path: string): Promise<void>;
  copyOut(path: string, to: string): Promise<boolean>;
  run(argv: readonly string[], options?: CustomCommandOptions): Promise<CommandResult>;
}

interface CustomCommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export type CustomFunction = (args: JsonObject, context: CustomContext) => unknown;

/** A user's functions by name. */
export interface CustomFunctions {
  readonly setUp: ReadonlyMap<string, CustomFunction>;
  /** Functions that return a score from 0 to 1. */
  readonly evaluation: ReadonlyMap<string, CustomFunction>;
  /** Spider2-V: functions that return a JSON value. */
  readonly getters: ReadonlyMap<string, CustomFunction>;
}

/** Calls a user's function, whose result can be anything. */
export async function callCustomFunction(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<unknown> {
  const { task, machine, signal, accounts, workFolder = null, result = null, expected = null } = from;
  const context: CustomContext = {
    task,
    machine: customMachine(machine, signal),
    accountSettings: (name) => readAccountSettings(name, task, accounts),
    signal,
    workFolder,
    result,
    expected,
  };
  return await call(args, context);
}

/** Calls a function for a score. */
export async function callForScore(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<number> {
  const score = await callCustomFunction(call, args, from);
  if (typeof score === "number" && score >= 0 && score <= 1) return score;
  throw new TypeError(`it returned ${String(score)}, expected a number from 0 to 1`);
}

/** Calls a function for a value. Undefined becomes null. */
export async function callForValue(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<JsonValue> {
  const parsed = jsonValueSchema.safeParse((await callCustomFunction(call, args, from)) ?? null);
  if (parsed.success) return parsed.data;
  throw new TypeError("it returned a value that is not valid JSON");
}

function customMachine(machine: TaskMachine, signal: AbortSignal): CustomMachine {
  return {
    copyIn: (from, path) => machine.copyIn(from, path),
    copyOut: (path, to) => machine.copyOut(path, to),
    run(argv, { cwd, env = {}, timeoutMs = COMMAND_MS } = {}) {
      if (!machine.canRun) return Promise.reject(new Error("this machine only contains files"));
      return machine.run({ argv, cwd: cwd ?? null, env, timeoutMs }, signal);
    },
  };
}

export const NO_CUSTOM_FUNCTIONS: CustomFunctions = { setUp: new Map(), evaluation: new Map(), getters: new Map() };
