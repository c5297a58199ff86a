import { checkSuite } from "../../suites/definition/checks/check-suite.js";
import type { SuiteFinding } from "../../suites/definition/finding.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";
import { customFunctions } from "./custom-functions.js";

export interface SuiteCheck {
  readonly suite: string;
  /** How many tasks could be read. */
  readonly tasks: number;
  readonly errors: readonly SuiteFinding[];
  readonly warnings: readonly SuiteFinding[];
}

/** `functions`: the user's module. */
export async function checkSuiteFolder(folder: string, functions: string | undefined): Promise<SuiteCheck> {
  const read = readSuite(openSuiteFolder(folder));
  const findings = checkSuite(read, await customFunctions(functions));
  return {
    suite: read.suite.name,
    tasks: read.tasks.length,
    errors: findings.filter(({ level }) => level === "error"),
    warnings: findings.filter(({ level }) => level === "warning"),
  };
}
