import type { Score } from "../scores/score.js";
import type { EvalDefinition } from "./eval-definition.js";
import type { EvalOutcome } from "./eval-outcome.js";

const PREFIX = "eval:";

/** The name of an eval's score in results, reports and gates; as a scorer it may name a version: `eval:NAME@2`. */
export type EvalScore = `${typeof PREFIX}${string}`;

export function scoreNameOf({ name }: Pick<EvalDefinition, "name">): EvalScore {
  return `${PREFIX}${name}`;
}

export function isEvalScore(name: string): name is EvalScore {
  return name.startsWith(PREFIX) && name.length > PREFIX.length;
}

/** The eval that a score is of, with its version where one is named. */
export function evalOfScore(score: EvalScore): string {
  return score.slice(PREFIX.length);
}

/** An error is no score of 0: it has none, and says why. */
export function toScore({ score, reason, error }: EvalOutcome): Score {
  return { value: score, explanation: error === null ? reason : `the eval failed: ${error}` };
}
