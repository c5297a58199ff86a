import { z } from "zod";
import { UserError } from "../../domain/errors.js";
import { isScorerName, judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName } from "../../scoring/scorers.js";
import type { Flags } from "../cli/command.js";

export const SCORER_FLAGS: Flags = {
  scorers: {
    type: "string",
    requiresArg: true,
    describe: "Scorers besides the five of the results file, separated by commas [default: all there are]",
  },
};

const names = z
  .string("expected names, separated by commas")
  .transform((value) => value.split(/[\s,]+/).filter((name) => name !== ""))
  .superRefine((given, context) => {
    const unknown = given.filter((name) => !isScorerName(name));
    if (given.length === 0 || unknown.length > 0) {
      const which = unknown.length === 0 ? "no scorer is named" : `there is no scorer ${unknown.join(", ")}`;
      context.addIssue({ code: "custom", message: `${which}; there are ${SCORER_NAMES.join(", ")}` });
    }
  })
  .transform((given) => given.filter(isScorerName));

export const scorerShape = { scorers: names.optional() };

/**
 * The scorers asked for and those that always run, in the order of their table; by default all that can be told. Throws where one is asked for
 * that needs a verdict and there is no judge.
 */
export function chosenScorers(asked: readonly ScorerName[] | undefined, hasVerdicts: boolean): ScorerName[] {
  if (asked === undefined) return SCORER_NAMES.filter((name) => hasVerdicts || judgeUse(name) !== "needed");
  const without = asked.find((name) => judgeUse(name) === "needed");
  if (without !== undefined && !hasVerdicts) {
    throw new UserError(
      "judge_missing",
      `--scorers: ${without} needs a judge, and there is none.`,
      "Name one, for example --judge anthropic/claude-haiku-5-5, or leave it out.",
    );
  }
  const wanted = new Set<string>([...RESULT_FILE_SCORERS, ...asked]);
  return SCORER_NAMES.filter((name) => wanted.has(name));
}

/** Whether a verdict would tell any of these anything. */
export function wantsJudge(asked: readonly ScorerName[] | undefined): boolean {
  return asked === undefined || asked.some((name) => judgeUse(name) !== null);
}
