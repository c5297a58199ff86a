import { type JsonObject, type JsonValue, jsonValueSchema } from "../../domain/json.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import type { AccountSettings } from "../accounts/account-settings.js";
import { ONLY_ACCOUNT_TASKS } from "../accounts/settings-path.js";
import { ACCOUNT_TAG } from "../definition/vocabulary.js";
import type { CustomContext, CustomFunction, CustomMachine } from "./custom-functions.js";

const COMMAND_MS = 300_000;

/** Where a function is called from. */
export interface CustomCall {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  readonly signal: AbortSignal;
  readonly accounts?: AccountSettings | undefined;
  readonly workFolder?: string;
  readonly result?: JsonValue;
  readonly expected?: JsonValue;
}

/** Calls a user's function; what it gives is unknown. */
export async function callCustomFunction(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<unknown> {
  const { task, machine, signal, accounts, workFolder = null, result = null, expected = null } = from;
  const context: CustomContext = {
    task,
    machine: customMachine(machine, signal),
    accountSettings(name) {
      if (!task.tags.includes(ACCOUNT_TAG)) throw new Error(ONLY_ACCOUNT_TASKS);
      const file = accounts?.read(name) ?? { missing: `settings/${name} is missing` };
      if ("missing" in file) throw new Error(file.missing);
      return file.text;
    },
    signal,
    workFolder,
    result,
    expected,
  };
  return await call(args, context);
}

/** For a score. */
export async function callForScore(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<number> {
  const score = await callCustomFunction(call, args, from);
  if (typeof score === "number" && score >= 0 && score <= 1) return score;
  throw new TypeError(`it gave ${String(score)}, which is no number from 0 to 1`);
}

/** For a value; undefined is null. */
export async function callForValue(call: CustomFunction, args: JsonObject, from: CustomCall): Promise<JsonValue> {
  const parsed = jsonValueSchema.safeParse((await callCustomFunction(call, args, from)) ?? null);
  if (parsed.success) return parsed.data;
  throw new TypeError("it gave a value that JSON cannot hold");
}

function customMachine(machine: TaskMachine, signal: AbortSignal): CustomMachine {
  return {
    copyIn: (from, path) => machine.copyIn(from, path),
    copyOut: (path, to) => machine.copyOut(path, to),
    run(argv, { cwd, env = {}, timeoutMs = COMMAND_MS } = {}) {
      if (!machine.canRun) return Promise.reject(new Error("this machine only holds files"));
      return machine.run({ argv, cwd: cwd ?? null, env, timeoutMs }, signal);
    },
  };
}
