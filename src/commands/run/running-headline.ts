import { HEADLINE_SCORERS, type Headline } from "../../domain/runs/headline-score.js";
import type { TaskResult } from "../../domain/runs/task-result.js";
import { share } from "../../reports/text/format-number.js";

const LABELS: Readonly<Record<Headline["scorer"], string>> = {
  judgeCorrect: "judged correct",
  taskScore: "score",
  semanticScore: "semantic",
};

/** The mean so far of the score that stands for a run. */
export class RunningHeadline {
  private readonly sums = new Map<Headline["scorer"], { sum: number; n: number }>();

  add({ scores }: TaskResult): void {
    for (const scorer of HEADLINE_SCORERS) {
      const value = scores[scorer] ?? null;
      if (value === null) continue;
      const { sum, n } = this.sums.get(scorer) ?? { sum: 0, n: 0 };
      this.sums.set(scorer, { sum: sum + value, n: n + 1 });
    }
  }

  /** Empty while nothing is scored. */
  text(): string {
    for (const scorer of HEADLINE_SCORERS) {
      const sums = this.sums.get(scorer);
      if (sums !== undefined) return `${LABELS[scorer]} ${share(sums.sum / sums.n)}`;
    }
    return "";
  }
}
