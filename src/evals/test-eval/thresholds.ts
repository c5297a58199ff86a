// Minimum numbers of labels, and the thresholds that an eval's test must pass.
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { compact } from "../../platform/optional-values.js";
import { lowerBounds } from "../../statistics/label-errors.js";
import type { Db } from "../../store/open-store.js";
import { counted } from "../../text/format.js";
import { modeFlag, OVERALL } from "../criteria.js";
import type { Agreement, EvalDefinition, EvalTest, ThresholdName } from "../definition.js";
import { independentCounts, labelErrors, ratesDespiteErrors, wrongLabelsText } from "../label-error-correction.js";
import { labeledTracesWord } from "../labels.js";

/**
 * Minimum number of labels of a kind for any measurement. An eval with a true rate of 0.7, the floor for `usable`, is
 * right on seven traces in a row with a probability of 8%, and on six with 12%.
 */
export const MIN_OF_A_KIND = 7;
/** Minimum number of training labels of a kind. Choosing an eval needs fewer than testing it. */
const MIN_IN_TRAINING = 4;
/** If there are fewer labels of a kind than this, a warning says that intervals are wide. */
export const FEW_OF_A_KIND = 20;

interface CountedLabels {
  /** Null for both halves, where a cross-fitted test is all that needs labels. */
  readonly half: "training" | "held-out" | null;
  readonly good: number;
  readonly bad: number;
  readonly criterion: string;
  /** Number of labels that are not by people and therefore not counted. */
  readonly others?: number;
}

type Measured = Pick<EvalTest, "agreement" | "readsByThisEval"> & Pick<EvalDefinition, "kind">;

/** Throws a UserError if a half, or both together, have too few labels of a kind. */
export function requireLabels(db: Db, { half, good, bad, criterion, others = 0 }: CountedLabels): void {
  const least = half === "training" ? MIN_IN_TRAINING : MIN_OF_A_KIND;
  if (good >= least && bad >= least) return;
  const name = criterion === OVERALL ? "" : ` for ${criterion}`;
  const isBoth = half === null;
  const verb = isBoth ? "choose and test" : half === "training" ? "choose" : "test";
  const kept = isBoth
    ? ""
    : ` Of the first ${MIN_IN_TRAINING + MIN_OF_A_KIND} bad traces, ${MIN_IN_TRAINING} are for making evals and ${MIN_OF_A_KIND} for testing them.`;
  const uncounted =
    others === 0
      ? ""
      : ` Not counted: ${counted(others, "label")}, because only labels by people can validate an eval.`;
  const otherMode = good + bad + others > 0 ? "" : ` Select a mode: --mode NAME (${commandLine`art-e evals modes`}).`;
  const label = commandLine`art-e evals label ${[...labeledTracesWord(db, criterion), "--enriched"]}`;
  throw new UserError(
    "labels_few",
    `Too few labels to ${verb} evals: ${good} good and ${bad} bad traces${name}${isBoth ? "" : " are available"} (minimum ${least} of each).${uncounted}`,
    `Label more traces, likely failures first: ${label}${modeFlag(criterion)}.${kept} Without labels, cases follow from the scores of a run: ${commandLine`art-e evals cases latest`}.${otherMode}`,
  );
}

/** The minimum values of a threshold level. */
interface Requirements {
  /** TPR and TNR, as estimated and surely. */
  readonly rate: number;
  readonly sureRate: number;
  /** Fractions of the good and of the bad traces with a result. */
  readonly judged: number;
  /** Number of traces of each kind. */
  readonly ofAKind: number;
}

const REQUIREMENTS: Readonly<Record<ThresholdName, Requirements>> = {
  // Good enough for use next to other metrics.
  usable: { rate: 0.8, sureRate: 0.7, judged: 0.8, ofAKind: 0 },
  // Good enough to block a release on its own.
  gate: { rate: 0.9, sureRate: 0.8, judged: 0.9, ofAKind: 30 },
};

/** Returns the reasons for a rejection. The thresholds apply to the rates free of label errors. */
export function rejectionsOf(thresholds: ThresholdName, measured: Measured): string[] {
  const { rate, sureRate, judged, ofAKind } = REQUIREMENTS[thresholds];
  const { agreement } = measured;
  const rates = ratesDespiteErrors(agreement);
  return compact([
    // If nearly half of the labels are wrong, or as many as are bad, they cannot validate an eval.
    rates === null && `${wrongLabelsText(labelErrors(agreement))}, so they cannot validate an eval`,
    rates !== null && below("true positive rate", rates.truePositive, rate),
    rates !== null && below("true negative rate", rates.trueNegative, rate),
    perhapsBelow(measured, sureRate),
    judgesFew(measured, judged),
    failsOften(agreement),
    ...(["good", "bad"] as const).map(
      (kind) => agreement[kind] < ofAKind && `there are only ${agreement[kind]} ${kind} traces (minimum ${ofAKind})`,
    ),
  ]);
}

const ROUNDING = 1e-9;

function below(label: string, value: number, least: number): string | null {
  return value >= least - ROUNDING ? null : `${label} is ${value.toFixed(3)} (minimum ${least})`;
}

/** Probability of accepting an eval whose true rate is below the floor, in all its tests together. */
const ALPHA_OF_ALL = 0.2;

/**
 * Returns whether a rate might be below a floor. Each test of the same eval is another chance to pass by luck, so that
 * the k-th test has the error probability 0.2 / (k (k + 1)): 0.1 for the first one, and at most 0.2 for all together
 * (alpha spending, Lan and DeMets 1983).
 */
function perhapsBelow({ agreement, readsByThisEval: k }: Measured, floor: number): string | null {
  const bounds = lowerBounds(independentCounts(agreement), agreement.labelPairs ?? null, ALPHA_OF_ALL / (k * (k + 1)));
  const low = compact([
    bounds.truePositive < floor && `true positive rate might be as low as ${bounds.truePositive.toFixed(2)}`,
    bounds.trueNegative < floor && `true negative rate might be as low as ${bounds.trueNegative.toFixed(2)}`,
  ]);
  if (low.length === 0) return null;
  return `the ${low.join(", and the ")} (minimum ${floor}, test ${k}): label more traces to find out`;
}

/**
 * Returns whether code or a rubric judges too few of the good or of the bad traces. It could look accurate by judging
 * only the easy ones. A rule cannot do that, because its features determine the traces that it applies to.
 */
function judgesFew({ agreement: { judged }, kind }: Measured, least: number): string | null {
  if (kind === "rules") return null;
  const shares = (["good", "bad"] as const).flatMap((label) => {
    const share = judged[label];
    return share === null || share >= least ? [] : [`${Math.round(share * 100)}% of the ${label} traces`];
  });
  return shares.length === 0 ? null : `it judges only ${shares.join(" and ")} (minimum ${least * 100}%)`;
}

/** Maximum fraction of labeled traces without a result. */
export const MAX_ERROR_SHARE = 0.05;

function failsOften({ good, bad, notApplicable, errors }: Agreement): string | null {
  const traces = good + bad + notApplicable + errors;
  return errors <= MAX_ERROR_SHARE * traces ? null : `it failed on ${errors} of ${traces} traces (maximum 5%)`;
}
