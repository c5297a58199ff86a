import type { Estimate } from "../statistics/estimate.js";
import { wilson } from "../statistics/intervals.js";
import type { JudgeCase, Verdict } from "../traces/trace.js";

/** A person's judgment of an answer, as a verdict. */
export type Label = Verdict;

export interface LabelledVerdict extends JudgeCase {
  readonly label: Label;
  /** The judge's verdict, or null without one. */
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * How well a judge agrees with people about the answers that have a verdict. It compares correct answers with all
 * others. Figures have 95% intervals.
 */
export interface Calibration {
  readonly labels: number;
  /**
   * Number of labels without a verdict, because the judge failed or its reply could not be read. All figures exclude
   * them.
   */
  readonly unscored: number;
  /** Of the answers that people call correct, the fraction that the judge also calls correct. */
  readonly truePositiveRate: Estimate;
  /** Of the other answers, the fraction that the judge does not call correct either. */
  readonly trueNegativeRate: Estimate;
  readonly confusion: {
    readonly bothCorrect: number;
    readonly judgeOnly: number;
    readonly labelOnly: number;
    readonly neither: number;
  };
  readonly disagreements: readonly LabelledVerdict[];
}

export function calibration(rows: readonly LabelledVerdict[]): Calibration {
  const scored = rows.filter(({ verdict }) => verdict !== null);
  const count = (label: boolean, verdict: boolean) =>
    scored.filter((row) => (row.label === "correct") === label && (row.verdict === "correct") === verdict).length;
  const bothCorrect = count(true, true);
  const judgeOnly = count(false, true);
  const labelOnly = count(true, false);
  const neither = count(false, false);
  return {
    labels: rows.length,
    unscored: rows.length - scored.length,
    truePositiveRate: rate(bothCorrect, bothCorrect + labelOnly),
    trueNegativeRate: rate(neither, neither + judgeOnly),
    confusion: { bothCorrect, judgeOnly, labelOnly, neither },
    disagreements: scored.filter(({ label, verdict }) => (label === "correct") !== (verdict === "correct")),
  };
}

function rate(successes: number, n: number): Estimate {
  return { value: n === 0 ? null : successes / n, n, ...wilson(successes, n) };
}
