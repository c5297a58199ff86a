import { join, resolve } from "node:path";
import { ACCOUNT_PREFIX } from "../../../suites/accounts/account-environment.js";
import { AccountSettings } from "../../../suites/accounts/account-settings.js";
import { openSuiteFolder } from "../../../suites/definition/suite-folder.js";
import { SuiteDocuments } from "../../../suites/documents/open-documents.js";
import { GradingProcesses } from "../../../suites/grading/grading-processes.js";
import { customFunctions } from "../../suites/custom-functions.js";
import { openSuiteTask } from "../../suites/open-suite-task.js";
import { findSandboxedMachines } from "../../suites/sandboxed-machines.js";
import type { AppContext } from "../../use-case-context.js";
import type { SuiteTasks } from "./answering.js";

/** What a suite's tasks take from outside of it. */
export interface SuiteResources {
  /** The user's module of functions. */
  readonly functions: string | undefined;
  /** The user's folder of account settings. */
  readonly accountSettings: string | undefined;
}

/** Opens the tasks of the suite in this folder, each in a machine of its own. */
export async function openSuiteTasks(
  root: string,
  { functions, accountSettings }: SuiteResources,
  context: AppContext,
): Promise<SuiteTasks> {
  const suite = openSuiteFolder(root);
  const documents = new SuiteDocuments(suite.content, join(context.settings.cacheDir, "documents"));
  const folder = accountSettings === undefined ? null : resolve(accountSettings);
  const env = accountVariables(context);
  const machines = await findSandboxedMachines(suite, context, folder);
  const accounts = new AccountSettings(suite, folder, env);
  const custom = await customFunctions(functions);
  const graders = new GradingProcesses({ suite, functions: functions ?? null, accounts: { folder, env } });
  return {
    open: (task, signal) => openSuiteTask(task, { suite, machines, accounts, custom, graders }, signal),
    documentsOf: (task) => documents.open(task.folder),
    async close() {
      await Promise.all([documents.close(), graders.close()]);
    },
  };
}

function accountVariables({ settings: { env } }: AppContext): Record<string, string> {
  const found = Object.entries(env).filter(([name, value]) => name.startsWith(ACCOUNT_PREFIX) && value !== undefined);
  return Object.fromEntries(found as [string, string][]);
}
