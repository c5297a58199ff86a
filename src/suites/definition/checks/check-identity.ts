import { basename } from "node:path";
import type { SuiteFinding } from "../finding.js";
import { pathInSuite } from "../suite-folder.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

/** The id, the folder and the file have one name, which no other task has. */
export const checkIdentity: TaskCheck = (read, context) => {
  const { task, path } = read;
  const { error } = findingsOf(read, context);
  const findings: SuiteFinding[] = [];
  if (task.id !== path.folderName) {
    findings.push(error("id_differs", "id", `is ${task.id}, but the task's folder is ${path.folderName}`));
  }
  if (basename(path.file) !== `${path.folderName}.json`) {
    const message = `is in ${basename(path.file)}, where ${path.folderName}.json is looked for`;
    findings.push(error("file_name_differs", "", message));
  }
  const first = context.byId.get(task.id);
  if (first !== undefined && first !== read) {
    findings.push(error("id_duplicate", "id", `is that of ${pathInSuite(context.suite, first.path.file)} too`));
  }
  return findings;
};
