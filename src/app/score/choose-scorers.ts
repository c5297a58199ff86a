import { UserError } from "../../domain/errors.js";
import { type EvalScore, isEvalScore } from "../../domain/evals/score-names.js";
import { judgeUse, RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName, SUITE_SCORERS } from "../../scoring/scorers.js";

/** A scorer of this program, or an eval. */
export type ScorerChoice = ScorerName | EvalScore;

/**
 * The scorers asked for and those that always run, in the order of their table; by default all that can be told.
 * Evals alone are asked for besides those.
 * Throws where one is asked for that needs a verdict and there is no judge.
 */
export function chosenScorers(asked: readonly ScorerChoice[] | undefined, hasVerdicts: boolean): ScorerChoice[] {
  if (asked === undefined || asked.every(isEvalScore))
    return [...SCORER_NAMES.filter((name) => hasVerdicts || judgeUse(name) !== "needed"), ...(asked ?? [])];
  const without = asked.find((name) => needsJudge(name));
  if (without !== undefined && !hasVerdicts) {
    throw new UserError(
      "judge_missing",
      `--scorers: ${without} needs a judge, and there is none.`,
      "Name one, for example --judge anthropic/claude-haiku-5-5, or leave it out.",
    );
  }
  const wanted = new Set<string>([...RESULT_FILE_SCORERS, ...asked]);
  return [...SCORER_NAMES.filter((name) => wanted.has(name)), ...asked.filter(isEvalScore)];
}

function needsJudge(name: ScorerChoice): boolean {
  return !isEvalScore(name) && judgeUse(name) === "needed";
}

/** The names that a run records: those of a suite's tasks have what their evaluation functions gave too. */
export function recordedScorers(split: string, scorers: readonly string[]): string[] {
  return split === "suite" ? [...scorers, ...Object.keys(SUITE_SCORERS)] : [...scorers];
}

/** Whether any of these scorers uses a verdict. */
export function wantsJudge(asked: readonly ScorerChoice[] | undefined): boolean {
  return asked === undefined || asked.some((name) => isEvalScore(name) || judgeUse(name) !== null);
}
