import { z } from "zod";
import { isEvalScore } from "../evals/definition.js";
import { isScorerName, SCORER_NAMES } from "../scoring/scorers.js";
import type { Flags } from "./command.js";
import { numberBetween, text, wholeNumber, wordList } from "./read-flags.js";

export const SCORER_FLAGS: Flags = {
  scorers: {
    type: "string",
    requiresArg: true,
    describe:
      "Scorers besides the five of the results file, separated by commas; eval:NAME runs an eval [default: all there are]",
  },
};

const names = z
  .string("expected names, separated by commas")
  .transform(wordList)
  .superRefine((given, context) => {
    const unknown = given.filter((name) => !isScorerName(name) && !isEvalScore(name));
    if (given.length === 0 || unknown.length > 0) {
      const which = unknown.length === 0 ? "no scorer is named" : `there is no scorer ${unknown.join(", ")}`;
      context.addIssue({
        code: "custom",
        message: `${which}; there are ${SCORER_NAMES.join(", ")}, and eval:NAME for evals`,
      });
    }
  })
  .transform((given) => given.filter((name) => isScorerName(name) || isEvalScore(name)));

export const scorerShape = { scorers: names.optional() };

/** `accuracy,sources`: names of metrics, separated by commas. */
export const metrics = text
  .transform(wordList)
  .pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));

export const JUDGE_FLAGS: Flags = {
  judge: {
    type: "string",
    requiresArg: true,
    describe:
      "Model that judges the answers: provider/model, art or art:provider/model (the published protocol), or off [default: the agent's provider's cheap model, where there is a key]",
  },
  "no-judge": { type: "boolean", describe: "The same as --judge off" },
  "judge-votes": {
    type: "number",
    requiresArg: true,
    describe: "Ask the judge so many times; most votes win [default: 1]",
  },
  "judge-base-url": { type: "string", requiresArg: true, describe: "Address of a compatible server for the judge" },
};

export const judgeShape = {
  judge: text.optional(),
  noJudge: z.boolean().default(false),
  judgeVotes: wholeNumber(1, 25).optional(),
  judgeBaseUrl: text.optional(),
};

/** What a run must reach, and files for CI. Of `run` and `gate`. */
export const GATE_FLAGS: Flags = {
  "fail-under": {
    type: "string",
    requiresArg: true,
    describe: "accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower is better)",
  },
  "min-coverage": {
    type: "number",
    requiresArg: true,
    describe: "With --fail-under eval:NAME: the least share of the tasks that the eval must judge [default: 0.9]",
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
  minCoverage: numberBetween(0, 1).optional(),
  baseline: text.optional(),
  noWorseThan: numberBetween(0, 1_000).optional(),
  metric: text.optional(),
  junit: text.optional(),
};
