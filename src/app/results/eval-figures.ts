import { type EvalScore, evalOfScore, isEvalScore } from "../../domain/evals/score-names.js";
import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { EvalFigures, Figure, ScoreMeaning } from "../../reports/page/report-data.js";
import { PassTally } from "../evals/pass-rates.js";
import type { ReportRun } from "./report-runs.js";

/** What evals say of runs, by eval and run, and what their newest tests say of them. */
export class EvalTally {
  private readonly scores: readonly EvalScore[];
  private readonly byRun: readonly ReadonlyMap<EvalScore, PassTally>[];

  constructor(
    private readonly runs: readonly ReportRun[],
    meanings: readonly ScoreMeaning[],
  ) {
    const scores = meanings
      .map(({ name }) => name)
      .filter(isEvalScore)
      .sort();
    this.scores = scores;
    this.byRun = runs.map(() => new Map(scores.map((score) => [score, new PassTally()])));
  }

  add(run: number, { taskId, scores }: TaskResult): void {
    for (const [score, passes] of this.byRun[run] ?? []) {
      const value = scores[score] ?? null;
      if (value !== null) passes.add(taskId, value);
    }
  }

  figures(): EvalFigures[] {
    const figures = this.scores.flatMap((score) => this.runs.map((_, run) => this.figuresOf(score, run)));
    return figures.filter(({ passRate }) => passRate.n > 0);
  }

  private figuresOf(score: EvalScore, run: number): EvalFigures {
    const found = this.runs[run]?.stored?.evalOf(score) ?? null;
    const test = found?.test?.report ?? null;
    const passes = this.byRun[run]?.get(score) ?? new PassTally();
    const { passRate, corrected, falseAlarms } = passes.figures(test?.agreement ?? null);
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
  }
}

function boundsOf({ value, n, low, high }: Estimate): Figure {
  return { value, n, low, high };
}
