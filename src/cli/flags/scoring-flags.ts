import { z } from "zod";
import { isEvalScore } from "../../evals/definition.js";
import { isScorerName, SCORER_NAMES } from "../../scoring/scorers.js";
import { file, listText, numberBetween, runId, text, url, wholeNumber, wordList } from "./read-flags.js";
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
    description: "Additional scorers, separated by commas (eval:NAME runs an eval) [default: all]",
  }),
};

/** Metric names separated by commas, such as `accuracy,sources`. */
export const metrics = listText
  .transform(wordList)
  .pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));

export const judgeShape = {
  judge: text.optional().meta({
    placeholder: "MODEL",
    description:
      "Judge: provider/model, art or art:provider/model (the published protocol), or off [default: the cheap model of the agent's provider, if there is a key]",
  }),
  noJudge: z.boolean().default(false).meta({ description: "Same as --judge off" }),
  judgeVotes: wholeNumber(1, 25)
    .optional()
    .meta({ description: "Number of verdicts per answer (the majority wins) [default: 1]" }),
  judgeBaseUrl: url.optional().meta({ description: "URL of a compatible server for the judge" }),
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
    placeholder: "SCORE=N",
    description:
      "Minimum scores, such as accuracy=0.8,sources=0.7 (maximum, if lower is better). Exit code 3 if missed",
  }),
  minCoverage: numberBetween(0, 1).optional().meta({
    placeholder: "FRACTION",
    description: "With --fail-under eval:NAME: minimum fraction of tasks that the eval must cover [default: 0.9]",
  }),
  baseline: runId
    .optional()
    .meta({ description: "Run or results file to compare --metric with. Exit code 3 if worse" }),
  noWorseThan: numberBetween(0, 1_000)
    .optional()
    .meta({ description: "With --baseline: maximum loss, excluded with 95% confidence [default: 0.02]" }),
  metric: text
    .optional()
    .meta({ placeholder: "SCORE", description: "Score for --baseline and --junit [default: accuracy]" }),
  junit: file.optional().meta({ description: "Write each gate and task as a test case to FILE (JUnit XML)" }),
};
