import { z } from "zod";
import { isEvalScore } from "../evals/definition.js";
import { isScorerName, SCORER_NAMES } from "../scoring/scorers.js";
import { listText, numberBetween, text, wholeNumber, wordList } from "./read-flags.js";
import { judgeRequestFlags } from "./request-flags.js";

const names = listText
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

export const scorerShape = {
  scorers: names.optional().meta({
    description:
      "Scorers besides the five of the results file, separated by commas; eval:NAME runs an eval [default: all there are]",
  }),
};

/** `accuracy,sources`: names of metrics, separated by commas. */
export const metrics = listText
  .transform(wordList)
  .pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));

export const judgeShape = {
  judge: text.optional().meta({
    description:
      "Model that judges the answers: provider/model, art or art:provider/model (the published protocol), or off [default: the agent's provider's cheap model, where there is a key]",
  }),
  noJudge: z.boolean().default(false).meta({ description: "The same as --judge off" }),
  judgeVotes: wholeNumber(1, 25)
    .optional()
    .meta({ description: "Ask the judge so many times; most votes win [default: 1]" }),
  judgeBaseUrl: text.optional().meta({ description: "Address of a compatible server for the judge" }),
  ...judgeRequestFlags,
};

const thresholds = text
  .regex(
    /^[\w.:-]+=-?\d+(\.\d+)?(,[\w.:-]+=-?\d+(\.\d+)?)*$/,
    "expected METRIC=VALUE,METRIC=VALUE, such as accuracy=0.8",
  )
  .meta({ isList: true })
  .transform((list) =>
    list.split(",").map((part) => {
      const [metric = "", limit] = part.split("=");
      return { metric, limit: Number(limit) };
    }),
  );

export const gateShape = {
  failUnder: thresholds.optional().meta({
    description: "accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower is better)",
  }),
  minCoverage: numberBetween(0, 1).optional().meta({
    description: "With --fail-under eval:NAME: the least share of the tasks that the eval must judge [default: 0.9]",
  }),
  baseline: text.optional().meta({ description: "A run or a results file that --metric must not be worse than" }),
  noWorseThan: numberBetween(0, 1_000)
    .optional()
    .meta({ description: "With --baseline: exit with 3 unless it is surely worse by less than this [default: 0.02]" }),
  metric: text.optional().meta({ description: "The score of --baseline and --junit [default: accuracy]" }),
  junit: text.optional().meta({ description: "Write every task as a test case to FILE (JUnit XML)" }),
};
