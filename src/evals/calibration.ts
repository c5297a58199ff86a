import type { Estimate } from "../domain/estimate.js";
import type { JudgeCase, Verdict } from "../domain/judgement.js";
import { wilson } from "../statistics/wilson.js";
import { kappa } from "./kappa.js";

/** What a person said of an answer, in a judge's words. */
export type Label = Verdict;

export interface LabelledVerdict extends JudgeCase {
  readonly label: Label;
  /** The judge's; null where there was none. */
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/** How far a judge can be trusted. Correct against everything else, over the answers it gave a verdict on; 95 % intervals. */
export interface Calibration {
  readonly labels: number;
  /** Without a verdict: the judge failed, or its reply could not be read. In none of the figures. */
  readonly unscored: number;
  readonly accuracy: Estimate;
  /** Of the answers the judge calls correct, the share that people do. */
  readonly precision: Estimate;
  /** Of the answers people call correct, the share that the judge does. */
  readonly recall: Estimate;
  /** Cohen's kappa: agreement beyond chance. */
  readonly kappa: Estimate;
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
    accuracy: rate(bothCorrect + neither, scored.length),
    precision: rate(bothCorrect, bothCorrect + judgeOnly),
    recall: rate(bothCorrect, bothCorrect + labelOnly),
    kappa: kappa([
      [bothCorrect, judgeOnly],
      [labelOnly, neither],
    ]),
    confusion: { bothCorrect, judgeOnly, labelOnly, neither },
    disagreements: scored.filter(({ label, verdict }) => (label === "correct") !== (verdict === "correct")),
  };
}

function rate(successes: number, n: number): Estimate {
  return { value: n === 0 ? null : successes / n, n, ...wilson(successes, n) };
}
