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

/** The names that a run records: those of a suite's tasks have what their evaluation functions gave too. */
export function recordedScorers(split: string, scorers: readonly ScorerName[]): string[] {
  return split === "suite" ? [...scorers, ...Object.keys(SUITE_SCORERS)] : [...scorers];
}

/** Whether any of these scorers uses a verdict. */
export function wantsJudge(asked: readonly ScorerName[] | undefined): boolean {
  return asked === undefined || asked.some((name) => judgeUse(name) !== null);
}
