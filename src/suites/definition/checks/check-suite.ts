import { type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "../../custom/custom-functions.js";
import type { SuiteFinding } from "../finding.js";
import type { ReadSuite } from "../read-suite.js";
import type { ReadTask } from "../read-task.js";
import type { CheckContext, TaskCheck } from "./check-context.js";
import { checkCounterpart } from "./check-counterpart-tasks.js";
import { checkDestinations } from "./check-destinations.js";
import { checkEmail } from "./check-email.js";
import { checkFields } from "./check-fields.js";
import { checkFiles } from "./check-files.js";
import { checkFunctions } from "./check-functions.js";
import { checkIdentity } from "./check-identity.js";
import { checkIndexes } from "./check-indexes.js";
import { checkMachinePaths } from "./check-machine-paths.js";
import { checkSettings } from "./check-settings.js";
import { checkTags } from "./check-tags.js";

const TASK_CHECKS: readonly TaskCheck[] = [
  checkIdentity,
  checkFields,
  checkTags,
  checkCounterpart,
  checkFunctions,
  checkFiles,
  checkDestinations,
  checkMachinePaths,
  checkEmail,
];

/** Everything wrong or odd about a suite that can be seen from its files; what could not be read comes first. */
export function checkSuite(
  { suite, tasks, problems }: ReadSuite,
  custom: CustomFunctions = NO_CUSTOM_FUNCTIONS,
): SuiteFinding[] {
  const byId = new Map<string, ReadTask>();
  for (const read of tasks) if (!byId.has(read.task.id)) byId.set(read.task.id, read);
  const context: CheckContext = { suite, tasks, byId, custom };
  const ofTasks = tasks.flatMap((read) => TASK_CHECKS.flatMap((check) => check(read, context)));
  return [...problems, ...ofTasks, ...checkIndexes(suite, tasks), ...checkSettings(suite, tasks)];
}
