import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { FUNCTIONS_FLAGS, functionsShape } from "../flags/suite-resource-flags.js";
import { SUITE_DIR } from "../flags/suite-selection-flags.js";

const schema = z.object({ dir: text, oracle: text.optional(), ...functionsShape });

export const checkSuiteCommand: Command = {
  positionals: { dir: SUITE_DIR },
  flags: {
    oracle: {
      type: "string",
      requiresArg: true,
      describe: "Grade the lines of an oracle file instead, and compare with their scores",
    },
    ...FUNCTIONS_FLAGS,
  },
  async run(argv, context) {
    const { dir, oracle, functions } = readFlags("suite check", schema, argv);
    const { checkText, oracleText } = await import("./check-text.js");
    const { gradeOracle } = await import("../../app/suites/oracle/grade-oracle.js");
    if (oracle !== undefined) {
      const report = await gradeOracle(dir, oracle, functions, context);
      context.out.result(report, () => oracleText(report));
      return report.different === 0 ? EXIT.done : EXIT.failed;
    }
    const { checkSuiteFolder } = await import("../../app/suites/check-suite-folder.js");
    const check = await checkSuiteFolder(dir, functions);
    context.out.result(check, () => checkText(check));
    return check.errors.length === 0 ? EXIT.done : EXIT.failed;
  },
};
