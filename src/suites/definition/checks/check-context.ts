import type { CustomFunctions } from "../../custom/custom-functions.js";
import type { FindingLevel, SuiteFinding } from "../finding.js";
import type { ReadTask } from "../read-task.js";
import { pathInSuite, type SuiteFolder } from "../suite-folder.js";

/** What a check of one task may look at. */
export interface CheckContext {
  readonly suite: SuiteFolder;
  readonly tasks: readonly ReadTask[];
  readonly byId: ReadonlyMap<string, ReadTask>;
  /** The user's own, beside those of the dialect. */
  readonly custom: CustomFunctions;
}

/** A check of one task. */
export type TaskCheck = (read: ReadTask, context: CheckContext) => SuiteFinding[];

/** Writes findings about one task. */
export function findingsOf({ task, path }: ReadTask, { suite }: CheckContext) {
  const write = (level: FindingLevel) => (code: string, field: string, message: string) => ({
    level,
    code,
    task: task.id,
    file: pathInSuite(suite, path.file),
    field,
    message,
  });
  return { error: write("error"), warning: write("warning") };
}
