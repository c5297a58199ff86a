// Minimum numbers of labels, and the thresholds that an eval's test must pass.
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { independentTrials } from "../../statistics/agreement.js";
import type { Estimate } from "../../statistics/estimate.js";
import { wilson } from "../../statistics/intervals.js";
import { labelErrorRate, lowerBounds, ratesWithoutLabelErrors } from "../../statistics/label-errors.js";
import { criterionFlag, OVERALL } from "../criteria.js";
import type { Agreement, EvalDefinition, EvalTest, LabelErrors, ThresholdName } from "../definition.js";
import type { LabelSummary } from "../labels.js";
import { effectiveCounts, repeatsOf } from "./effective-counts.js";

/** Minimum number of labels of a kind for any measurement. */
export const MIN_OF_A_KIND = 10;
/** If there are fewer labels of a kind than this, a warning says that intervals are wide. */
export const FEW_OF_A_KIND = 20;

/** Below this agreement, people disagree with themselves too much for an eval to agree with them. */
export const LOW_SELF_AGREEMENT = 0.8;

interface CountedLabels {
  readonly half: "training" | "held-out";
  readonly good: number;
  readonly bad: number;
  /** Number of labels of hard cases, which are not counted because they are not a random sample. */
  readonly hard: number;
  readonly criterion: string;
}

/** Throws a UserError if a half has too few labels of a kind. */
export function requireLabels({ half, good, bad, hard, criterion }: CountedLabels): void {
  if (good >= MIN_OF_A_KIND && bad >= MIN_OF_A_KIND) return;
  const name = criterion === OVERALL ? "" : ` for ${criterion}`;
  const left = hard === 0 ? "" : `; ${hard} labels of hard cases are not counted`;
  const others =
    good + bad + hard > 0 ? "" : ` Select another criterion: --criterion NAME (${commandLine`art-e evals criteria`}).`;
  throw new UserError(
    "labels_few",
    `Too few labels: the ${half} half has ${good} good and ${bad} bad traces${name} (minimum ${MIN_OF_A_KIND} of each${left}).`,
    `Label a random sample: ${commandLine`art-e evals label`}${criterionFlag(criterion)}. Half of the questions are held out, so twice as many labels are needed.${others}`,
  );
}

type Measured = Pick<EvalTest, "agreement" | "labelErrors" | "looks"> & Pick<EvalDefinition, "kind">;

type Check = (measured: Measured) => string | readonly string[] | null;

/** Checks for each threshold level. A check returns the reasons for a rejection, or null. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // Good enough for use next to other metrics.
  usable: [fewLabelErrors, ratesAtLeast({ least: 0.8, floor: 0.67 }), judges(0.8), fewErrors],
  // Good enough to block a release on its own.
  gate: [
    fewLabelErrors,
    ratesAtLeast({ least: 0.9, floor: 0.8 }),
    judges(0.9),
    fewErrors,
    ({ agreement: { good } }) => fewOf(good, "good"),
    ({ agreement: { bad } }) => fewOf(bad, "bad"),
  ],
};

const WANTED_OF_A_KIND = 30;

export function rejectionsOf(thresholds: ThresholdName, measured: Measured): string[] {
  return CHECKS[thresholds].flatMap((check) => check(measured) ?? []);
}

/** Probability of accepting an eval whose true rate is at the floor, over all tests of the eval together. */
const ACCEPT_ERROR = 0.05;

/**
 * Returns the error that the test number `look` can spend. The parts 6 / (pi k)^2 of all tests add up to 1, so the
 * union bound limits the error however often an eval is tested (alpha spending: Lan and DeMets 1983, "Discrete
 * sequential boundaries for clinical trials", Biometrika 70(3)).
 */
function errorOfLook(look: number): number {
  return (ACCEPT_ERROR * 6) / (Math.PI * look) ** 2;
}

/**
 * Checks that both rates, free of label errors if these are known, are at least `least`, and that their lower bounds
 * are at least `floor`.
 */
function ratesAtLeast({ least, floor }: { readonly least: number; readonly floor: number }): Check {
  return ({ agreement, labelErrors, looks }) => {
    const bounds = lowerBounds(effectiveCounts(agreement), repeatsOf(labelErrors), errorOfLook(Math.max(1, looks)));
    return RATES.flatMap(({ label, rate, bound }) => {
      const { value } = (labelErrors ?? agreement)[rate];
      if (value === null || value < least)
        return [`${label} is ${value === null ? "unknown" : value.toFixed(3)} (minimum ${least})`];
      const low = bounds[bound];
      const tests = looks > 1 ? `, after ${looks} tests` : "";
      return low >= floor ? [] : [`${label} might be only ${low.toFixed(3)} (minimum ${floor}${tests}): add labels`];
    });
  };
}

/** Above this error rate, the labels contain too little information about the truth. */
const MAX_LABEL_ERRORS = 0.25;

function fewLabelErrors({ labelErrors }: Measured): string | null {
  const rate = labelErrors?.rate.value ?? 0;
  if (rate <= MAX_LABEL_ERRORS) return null;
  return `about ${Math.round(rate * 100)}% of the labels are wrong, based on repeated labels, so they cannot validate an eval`;
}

const RATES = [
  { label: "true positive rate", rate: "truePositiveRate", bound: "tpr" },
  { label: "true negative rate", rate: "trueNegativeRate", bound: "tnr" },
] as const;

/**
 * Checks that code or a rubric judges enough of the good and of the bad traces. Otherwise, it could look accurate by
 * judging only the easy ones. A rule cannot do that, because its features determine the traces that it applies to.
 */
function judges(least: number): Check {
  return ({ agreement: { judged }, kind }) => {
    if (kind === "rules") return null;
    const few = (["good", "bad"] as const).filter((kind) => (judged[kind] ?? 1) < least);
    if (few.length === 0) return null;
    const shares = few.map((kind) => `${Math.round((judged[kind] ?? 0) * 100)}% of the ${kind} traces`);
    return `it judges only ${shares.join(" and ")} (minimum ${least * 100}%)`;
  };
}

/** Minimum number of repeated labels for an estimate of label noise. */
const MIN_REPEATS = 5;

/**
 * Returns how often two labels of a trace agree. Pools repetitions by one person and labels by two people, weighted by
 * their numbers. Null if there are too few.
 */
export function labelAgreement({ selfAgreement, betweenAnnotators }: LabelSummary): Estimate | null {
  const n = selfAgreement.n + betweenAnnotators.n;
  if (n < MIN_REPEATS) return null;
  const trials = [selfAgreement, betweenAnnotators].map(independentTrials);
  const successes = trials.reduce((sum, one) => sum + one.successes, 0);
  const effective = trials.reduce((sum, one) => sum + one.n, 0);
  if (effective === 0) return null;
  return { value: successes / effective, n, ...wilson(successes, effective), method: "wilson" };
}

/** Returns the label errors and the eval's rates without them, or null if too few traces were labeled twice. */
export function labelErrorsOf(pooled: Estimate | null, agreement: Agreement): LabelErrors | null {
  if (pooled === null || agreement.good === 0 || agreement.bad === 0) return null;
  const rates = ratesWithoutLabelErrors(effectiveCounts(agreement), independentTrials(pooled));
  const { truePositiveRate, trueNegativeRate } = rates;
  return {
    agreement: pooled,
    rate: labelErrorRate(pooled),
    truePositiveRate: { ...truePositiveRate, n: agreement.good },
    trueNegativeRate: { ...trueNegativeRate, n: agreement.bad },
  };
}

/** Maximum fraction of labeled traces without a result. */
export const MAX_ERROR_SHARE = 0.05;

function fewErrors({ agreement: { good, bad, notApplicable, errors } }: Measured): string | null {
  const traces = good + bad + notApplicable + errors;
  return errors <= MAX_ERROR_SHARE * traces ? null : `it failed on ${errors} of ${traces} traces (maximum 5%)`;
}

function fewOf(n: number, kind: string): string | null {
  return n >= WANTED_OF_A_KIND ? null : `there are only ${n} ${kind} traces (minimum ${WANTED_OF_A_KIND})`;
}
