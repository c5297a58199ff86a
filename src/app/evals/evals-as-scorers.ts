import type { EvalDefinition, StoredEval } from "../../domain/evals/eval-definition.js";
import { type EvalScore, evalOfScore, isEvalScore, scoreNameOf } from "../../domain/evals/score-names.js";
import type { Db } from "../../store/connection/open-store.js";
import { findEval } from "../../store/evals/evals.js";
import type { RunRow } from "../../store/runs/runs.js";
import { openEvals } from "./open-evals.js";

/** The evals among these scorers. */
export function evalsAmong(db: Db, scorers: readonly string[]): EvalDefinition[] {
  return openEvals(db, scorers.filter(isEvalScore).map(evalOfScore)).map(({ definition }) => definition);
}

/** With the version of each eval, so that a run that goes on later is scored by the same. */
export function pinEvals(db: Db, scorers: readonly string[]): string[] {
  return withVersions(
    scorers.filter((name) => !isEvalScore(name)),
    evalsAmong(db, scorers),
  );
}

/** The scorers of a run with these evals, in the place of other versions of them. */
export function withVersions(scorers: readonly string[], evals: readonly EvalDefinition[]): string[] {
  const names = new Set<string>(evals.map(scoreNameOf));
  const others = scorers.filter((name) => !names.has(name.split("@")[0] ?? ""));
  return [...others, ...evals.map((definition) => `${scoreNameOf(definition)}@${definition.version}`)];
}

/** The version of an eval that a run's scores are of: the one on record, else the newest; null: there is none here. */
export function evalOfRun(db: Db, score: EvalScore, { settings }: Pick<RunRow, "settings">): StoredEval | null {
  const onRecord = settings.scorers.filter(isEvalScore).find((name) => name.startsWith(`${score}@`));
  return findEval(db, evalOfScore(onRecord ?? score));
}
