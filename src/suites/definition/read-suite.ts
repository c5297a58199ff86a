import { findTaskFiles } from "./find-task-files.js";
import type { SuiteFinding } from "./finding.js";
import { type ReadTask, readTask } from "./read-task.js";
import type { SuiteFolder } from "./suite-folder.js";

export interface ReadSuite {
  readonly suite: SuiteFolder;
  /** In the order of their paths. */
  readonly tasks: readonly ReadTask[];
  /** Why others could not be read. */
  readonly problems: readonly SuiteFinding[];
}

export function readSuite(suite: SuiteFolder): ReadSuite {
  const { files, findings } = findTaskFiles(suite);
  const tasks: ReadTask[] = [];
  const problems = [...findings];
  for (const path of files) {
    const reading = readTask(path, suite);
    if (reading.ok) tasks.push(reading);
    else problems.push(...reading.problems);
  }
  return { suite, tasks, problems };
}
