import type { Estimate } from "./interval-estimate.js";
import type { JudgeCase, Verdict } from "./judgement.js";

/** What a person said of an answer, in a judge's words. */
export type Label = Verdict;

export interface LabelledVerdict extends JudgeCase {
  readonly label: Label;
  /** The judge's; null where there was none. */
  readonly verdict: Verdict | null;
  readonly reason: string;
  readonly agreement: number | null;
}

/**
 * How far a judge can be trusted. Correct against everything else, over the answers it gave a verdict on; 95 %
 * intervals.
 */
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
