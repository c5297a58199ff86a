import { isEvalScore } from "../../domain/evals/score-names.js";
import type { RunHead } from "../../domain/scores/comparison.js";
import type { ScoreMeaning } from "../../reports/page/report-data.js";
import { SCORES } from "../../scoring/scorers.js";
import type { ReportRun } from "./report-runs.js";

/** The scores that a task of any of these runs has: first the known ones in their order, then others. */
export function scoredNames(heads: readonly Pick<RunHead, "scores">[]): string[] {
  const scored = heads.flatMap(({ scores }) =>
    Object.entries(scores).flatMap(([name, { n }]) => (n > 0 ? [name] : [])),
  );
  const known = Object.keys(SCORES).filter((name) => scored.includes(name));
  return [...new Set([...known, ...scored])];
}

/** What the scores of these runs mean; unknown ones are from other versions. */
export function scoreMeanings(runs: readonly ReportRun[]): ScoreMeaning[] {
  return scoredNames(runs.map(({ head }) => head)).map((name) => {
    const { label, kind, better, meaning } = SCORES[name] ?? evalMeaning(runs, name) ?? UNKNOWN;
    return { name, label: label === "" ? name : label, kind, better, meaning };
  });
}

/** The criterion of the version that scored the first of the runs that has one; null: it is no eval. */
function evalMeaning(runs: readonly ReportRun[], name: string): typeof UNKNOWN | null {
  if (!isEvalScore(name)) return null;
  const [first] = runs.flatMap(({ stored }) => stored?.evalOf(name) ?? []);
  return {
    ...UNKNOWN,
    kind: "rate",
    meaning: first?.stored.definition.criterion ?? "An eval that is not in this database.",
  };
}

const UNKNOWN: Omit<ScoreMeaning, "name"> = {
  label: "",
  kind: "mean",
  better: "higher",
  meaning: "Not a score of this version of art-e.",
};
