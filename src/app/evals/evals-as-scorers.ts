import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import { evalOfScore, isEvalScore, scoreNameOf } from "../../domain/evals/score-names.js";
import type { Db } from "../../store/connection/open-store.js";
import { openEvals } from "./open-evals.js";

/** The evals among these scorers. */
export function evalsAmong(db: Db, scorers: readonly string[]): EvalDefinition[] {
  return openEvals(db, scorers.filter(isEvalScore).map(evalOfScore)).map(({ definition }) => definition);
}

/** With the version of each eval, so that a run that goes on later is scored by the same. */
export function pinEvals(db: Db, scorers: readonly string[]): string[] {
  const pinned = evalsAmong(db, scorers).map((definition) => `${scoreNameOf(definition)}@${definition.version}`);
  return [...scorers.filter((name) => !isEvalScore(name)), ...pinned];
}
