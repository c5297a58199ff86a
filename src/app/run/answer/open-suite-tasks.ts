import { join } from "node:path";
import { openSuiteFolder } from "../../../suites/definition/suite-folder.js";
import { SuiteDocuments } from "../../../suites/documents/open-documents.js";
import { openSuiteTask } from "../../suites/open-suite-task.js";
import { findSandboxedMachines } from "../../suites/sandboxed-machines.js";
import type { AppContext } from "../../use-case-context.js";
import type { SuiteTasks } from "./answering.js";

/** Opens the tasks of the suite in this folder, each in a machine of its own. */
export async function openSuiteTasks(folder: string, context: AppContext): Promise<SuiteTasks> {
  const suite = openSuiteFolder(folder);
  const machines = await findSandboxedMachines(suite, context);
  const documents = new SuiteDocuments(suite.content, join(context.settings.cacheDir, "documents"));
  return {
    open: (task, signal) => openSuiteTask(task, suite, machines, signal),
    documentsOf: (task) => documents.open(task.folder),
    close: () => documents.close(),
  };
}
