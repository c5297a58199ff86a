import { z } from "zod";
import { EXIT } from "../../domain/errors.js";
import { THRESHOLD_NAMES } from "../../domain/evals/eval-test.js";
import { evalTestText } from "../../reports/text/evals/eval-test-text.js";
import type { Command } from "../cli/command.js";
import { oneOf, readFlags, text } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, EVAL_NAME } from "./eval-flags.js";

const schema = z.object({ name: text, thresholds: oneOf(THRESHOLD_NAMES).default("usable"), ...criterionShape });

export const testEvalCommand: Command = {
  positionals: { name: EVAL_NAME },
  flags: {
    thresholds: {
      type: "string",
      requiresArg: true,
      describe: "usable, gate (stricter), or origin (accuracy, kappa, F1, cost, time) [default: usable]",
    },
    ...CRITERION_FLAGS,
  },
  async run(argv, context) {
    const { testEval } = await import("../../app/evals/test-eval.js");
    const { stored, test } = await testEval(readFlags("evals test", schema, argv), context);
    const { name, version } = stored.definition;
    const passed = test.rejections.length === 0;
    context.out.result({ name, version, passed, ...test }, () => evalTestText(stored, test));
    return passed ? EXIT.done : EXIT.gate;
  },
};
