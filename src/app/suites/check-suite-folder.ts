import { checkSuite } from "../../suites/definition/checks/check-suite.js";
import type { SuiteFinding } from "../../suites/definition/finding.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";

export interface SuiteCheck {
  readonly suite: string;
  /** How many tasks could be read. */
  readonly tasks: number;
  readonly errors: readonly SuiteFinding[];
  readonly warnings: readonly SuiteFinding[];
}

export function checkSuiteFolder(folder: string): SuiteCheck {
  const read = readSuite(openSuiteFolder(folder));
  const findings = checkSuite(read);
  return {
    suite: read.suite.name,
    tasks: read.tasks.length,
    errors: findings.filter(({ level }) => level === "error"),
    warnings: findings.filter(({ level }) => level === "warning"),
  };
}
