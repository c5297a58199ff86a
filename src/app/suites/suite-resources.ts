import { resolve } from "node:path";
import type { TaskMachines } from "../../domain/tasks/task-machine.js";
import { ACCOUNT_PREFIX } from "../../suites/accounts/account-environment.js";
import { AccountSettings } from "../../suites/accounts/account-settings.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import { GradingProcesses } from "../../suites/grading/grading-processes.js";
import { folderMachines } from "../../suites/machines/folder-machines.js";
import type { AppContext } from "../use-case-context.js";
import { customFunctions } from "./custom-functions.js";
import type { SuiteTaskSources } from "./open-suite-task.js";
import { findSandboxedMachines } from "./sandboxed-machines.js";

/** What a suite's tasks take from outside of it. */
export interface SuiteResourceOptions {
  /** The user's module of set-up and evaluation functions. */
  readonly functions?: string | undefined;
  /** The user's folder of the settings of accounts. */
  readonly accountSettings?: string | undefined;
}

/** What the tasks of a run are opened with. Close it in the end. */
export interface SuiteResources {
  /** Machines are looked for when the first task is opened. */
  sources(): Promise<SuiteTaskSources>;
  /** For tasks that take none: a folder stands for it. */
  withoutMachines(): SuiteTaskSources;
  close(): Promise<void>;
}

/** Throws a UserError where the module or the folder cannot be used. */
export async function openSuiteResources(
  suite: SuiteFolder,
  { functions, accountSettings }: SuiteResourceOptions,
  context: AppContext,
): Promise<SuiteResources> {
  const folder = accountSettings === undefined ? null : resolve(accountSettings);
  const env = accountVariables(context);
  const accounts = new AccountSettings(suite, folder, env);
  const custom = await customFunctions(functions);
  const path = functions === undefined ? null : resolve(functions);
  const graders = new GradingProcesses({ suite, functions: path, accounts: { folder, env } });
  let machines: Promise<TaskMachines> | undefined;
  return {
    async sources() {
      machines ??= findSandboxedMachines(suite, context, folder);
      return { suite, machines: await machines, accounts, custom, graders };
    },
    withoutMachines: () => ({ suite, machines: folderMachines, accounts, custom, graders }),
    close: () => graders.close(),
  };
}

function accountVariables({ settings: { env } }: AppContext): Record<string, string> {
  const found = Object.entries(env).filter(([name, value]) => name.startsWith(ACCOUNT_PREFIX) && value !== undefined);
  return Object.fromEntries(found as [string, string][]);
}
