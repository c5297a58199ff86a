import { UserError } from "../../domain/errors.js";
import { judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName, SUITE_SCORERS } from "../../scoring/scorers.js";

/**
 * The scorers asked for and those that always run, in the order of their table; by default all that can be told.
 * Throws where one is asked for that needs a verdict and there is no judge.
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

/** Of a run over a suite: its own, and where tasks ask questions with gold answers, those of answers. */
export function suiteScorers(
  asked: readonly ScorerName[] | undefined,
  { hasAnswers, hasVerdicts }: { readonly hasAnswers: boolean; readonly hasVerdicts: boolean },
): ScorerName[] {
  return hasAnswers ? [...chosenScorers(asked, hasVerdicts), ...SUITE_SCORERS] : [...SUITE_SCORERS];
}

/** Whether any of these scorers uses a verdict. */
export function wantsJudge(asked: readonly ScorerName[] | undefined): boolean {
  return asked === undefined || asked.some((name) => judgeUse(name) !== null);
}
