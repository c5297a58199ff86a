import type { Flags } from "../cli/command.js";
import { numberBetween, text } from "../cli/read-flags.js";

/** What a run must reach, and files for CI. Of `run` and `gate`. */
export const GATE_FLAGS: Flags = {
  "fail-under": {
    type: "string",
    requiresArg: true,
    describe: "accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower is better)",
  },
  baseline: {
    type: "string",
    requiresArg: true,
    describe: "A run or a results file that --metric must not be worse than",
  },
  "no-worse-than": {
    type: "number",
    requiresArg: true,
    describe: "With --baseline: exit with 3 unless it is surely worse by less than this [default: 0.02]",
  },
  metric: {
    type: "string",
    requiresArg: true,
    describe: "The score of --baseline and --junit [default: accuracy]",
  },
  junit: { type: "string", requiresArg: true, describe: "Write every task as a test case to FILE (JUnit XML)" },
};

const thresholds = text
  .regex(
    /^[\w.:-]+=-?\d+(\.\d+)?(,[\w.:-]+=-?\d+(\.\d+)?)*$/,
    "expected METRIC=VALUE,METRIC=VALUE, such as accuracy=0.8",
  )
  .transform((list) =>
    list.split(",").map((part) => {
      const [metric = "", limit] = part.split("=");
      return { metric, limit: Number(limit) };
    }),
  );

export const gateShape = {
  failUnder: thresholds.optional(),
  baseline: text.optional(),
  noWorseThan: numberBetween(0, 1_000).optional(),
  metric: text.optional(),
  junit: text.optional(),
};
