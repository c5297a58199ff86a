import { z } from "zod";
import { isEvalScore } from "../../domain/evals/score-names.js";
import { isScorerName, SCORER_NAMES } from "../../scoring/scorers.js";
import type { Flags } from "../cli/command.js";
import { wordList } from "../cli/list-flags.js";

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
