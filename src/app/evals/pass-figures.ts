import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { clusteredRate } from "../../statistics/f1.js";
import { correctedRate, independentTrials } from "../../statistics/rogan-gladen.js";
import type { Db } from "../../store/connection/open-store.js";
import { latestTest } from "../../store/evals/eval-tests.js";

/** What an eval says of a run, and what that is worth. */
export interface PassFigures {
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

  /** `stored`: the version that gave the scores; null: it is not known. */
  figures(db: Db, stored: StoredEval | null): PassFigures {
    const passRate = clusteredRate(this.trials);
    const agreement = stored === null ? undefined : latestTest(db, stored.id)?.report.agreement;
    if (agreement === undefined) return { passRate, corrected: null, falseAlarms: null };
    const { truePositiveRate, trueNegativeRate, falseFailureRate } = agreement;
    const corrected = correctedRate(
      independentTrials(passRate),
      independentTrials(truePositiveRate),
      independentTrials(trueNegativeRate),
    );
    return { passRate, corrected: { ...corrected, n: passRate.n }, falseAlarms: falseFailureRate };
  }
}
