import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Agreement } from "../../domain/evals/eval-test.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { clusteredRate } from "../../statistics/f1.js";
import { correctedRate, independentTrials } from "../../statistics/rogan-gladen.js";

/** What an eval says of a run, and what that is worth. */
export interface PassRates {
  /** As observed. */
  readonly passRate: Estimate;
  /** As it would be without the errors that the newest test measured; null without a test. */
  readonly corrected: Estimate | null;
  /** Share of the good traces that it fails, by its newest test; null without one. */
  readonly falseAlarms: Estimate | null;
}

/** The scores that an eval gave the tasks of a run, those without one left out. */
export class PassTally {
  private readonly trials: { readonly success: boolean; readonly cluster: string }[] = [];

  add(taskId: TaskId, score: number): void {
    this.trials.push({ success: isPass(score), cluster: JSON.stringify(taskId) });
  }

  get passed(): number {
    return this.trials.filter(({ success }) => success).length;
  }

  get failed(): number {
    return this.trials.length - this.passed;
  }

  /** `agreement`: of the newest test of the version that gave the scores; null: there is none. */
  figures(agreement: Agreement | null): PassRates {
    const passRate = clusteredRate(this.trials);
    if (agreement === null) return { passRate, corrected: null, falseAlarms: null };
    const { truePositiveRate, trueNegativeRate, falseFailureRate } = agreement;
    const corrected = correctedRate(
      independentTrials(passRate),
      independentTrials(truePositiveRate),
      independentTrials(trueNegativeRate),
    );
    return { passRate, corrected: { ...corrected, n: passRate.n }, falseAlarms: falseFailureRate };
  }
}
