import { type EvalScore, evalOfScore, isEvalScore } from "../../domain/evals/score-names.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { EvalFigures, Figure, ScoreMeaning } from "../../reports/page/report-data.js";
import { PassTally } from "../evals/pass-figures.js";
import type { ReportRun } from "./report-runs.js";

/** What evals say of runs, by eval and run, and what their newest tests say of them. */
export function evalFigures(runs: readonly ReportRun[], meanings: readonly ScoreMeaning[]): EvalFigures[] {
  const scores = meanings
    .map(({ name }) => name)
    .filter(isEvalScore)
    .sort();
  if (scores.length === 0) return [];
  const tallies = runs.map((run) => tallyRun(run, scores));
  const figures = scores.flatMap((score) =>
    runs.map(({ stored: database }, run): EvalFigures => {
      const found = database?.evalOf(score) ?? null;
      const test = found?.test?.report ?? null;
      const { passRate, corrected, falseAlarms } = (tallies[run]?.get(score) ?? new PassTally()).figures(
        test?.agreement ?? null,
      );
      return {
        score,
        run,
        name: evalOfScore(score),
        version: found?.stored.definition.version ?? null,
        reference: found?.stored.definition.reference ?? false,
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

function tallyRun(run: ReportRun, scores: readonly EvalScore[]): Map<EvalScore, PassTally> {
  const tallies = new Map(scores.map((score) => [score, new PassTally()]));
  for (const { taskId, scores: values } of run.results()) {
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
