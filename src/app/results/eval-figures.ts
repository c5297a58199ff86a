import { type EvalScore, evalOfScore, isEvalScore } from "../../domain/evals/score-names.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { EvalFigures, Figure, ScoreMeaning } from "../../reports/page/report-data.js";
import type { Db } from "../../store/connection/open-store.js";
import { latestTest } from "../../store/evals/eval-tests.js";
import { iterateResults } from "../../store/runs/results.js";
import type { RunRow } from "../../store/runs/runs.js";
import { evalOfRun } from "../evals/evals-as-scorers.js";
import { PassTally } from "../evals/pass-figures.js";

/** What evals say of runs, by eval and run, and what their newest tests say of them. */
export function evalFigures(db: Db, runs: readonly RunRow[], meanings: readonly ScoreMeaning[]): EvalFigures[] {
  const scores = meanings
    .map(({ name }) => name)
    .filter(isEvalScore)
    .sort();
  if (scores.length === 0) return [];
  const tallies = runs.map((run) => tallyRun(db, run, scores));
  const figures = scores.flatMap((score) =>
    runs.map((run, index): EvalFigures => {
      const stored = evalOfRun(db, score, run);
      const { passRate, corrected, falseAlarms } = (tallies[index]?.get(score) ?? new PassTally()).figures(db, stored);
      const test = stored === null ? null : (latestTest(db, stored.id)?.report ?? null);
      return {
        score,
        run: index,
        name: evalOfScore(score),
        version: stored?.definition.version ?? null,
        reference: stored?.definition.reference ?? false,
        passRate: boundsOf(passRate),
        corrected: corrected && boundsOf(corrected),
        falseAlarms: falseAlarms && boundsOf(falseAlarms),
        test: test && {
          good: test.agreement.good,
          bad: test.agreement.bad,
          thresholds: test.thresholds,
          passed: test.rejections.length === 0,
        },
      };
    }),
  );
  return figures.filter(({ passRate }) => passRate.n > 0);
}

function tallyRun(db: Db, { id }: RunRow, scores: readonly EvalScore[]): Map<EvalScore, PassTally> {
  const tallies = new Map(scores.map((score) => [score, new PassTally()]));
  for (const { taskId, scores: values } of iterateResults(db, id)) {
    for (const [score, tally] of tallies) {
      const value = values[score] ?? null;
      if (value !== null) tally.add(taskId, value);
    }
  }
  return tallies;
}

function boundsOf({ value, n, low, high }: Estimate): Figure {
  return { value, n, low, high };
}
