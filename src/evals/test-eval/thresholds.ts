// Minimum numbers of labels, and the thresholds that an eval's test must pass.
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { type LabelPairs, lowerBounds, wrongLabels } from "../../statistics/label-errors.js";
import { criterionFlag, OVERALL } from "../criteria.js";
import type { EvalDefinition, EvalTest, LabelCeiling, ThresholdName } from "../definition.js";
import type { LabelSummary } from "../labels.js";
import { independentCounts } from "./independent-counts.js";

/**
 * Minimum number of labels of a kind for any measurement. An eval with a true rate of 0.7, the floor for `usable`, is
 * right on seven traces in a row with a probability of 8%, and on six with 12%.
 */
export const MIN_OF_A_KIND = 7;
/** If there are fewer labels of a kind than this, a warning says that intervals are wide. */
export const FEW_OF_A_KIND = 20;

/** Below this agreement, people disagree with themselves too much for an eval to agree with them. */
export const LOW_SELF_AGREEMENT = 0.8;

interface CountedLabels {
  readonly half: "training" | "held-out";
  readonly good: number;
  readonly bad: number;
  readonly criterion: string;
}

type Measured = Pick<EvalTest, "agreement" | "ceiling" | "readsByThisEval"> & Pick<EvalDefinition, "kind">;

type Check = (measured: Measured) => string | null;

/** Throws a UserError if a half has too few labels of a kind. */
export function requireLabels({ half, good, bad, criterion }: CountedLabels): void {
  if (good >= MIN_OF_A_KIND && bad >= MIN_OF_A_KIND) return;
  const name = criterion === OVERALL ? "" : ` for ${criterion}`;
  const others =
    good + bad > 0 ? "" : ` Select another criterion: --criterion NAME (${commandLine`art-e evals criteria`}).`;
  throw new UserError(
    "labels_few",
    `Too few labels: the ${half} half has ${good} good and ${bad} bad traces${name} (minimum ${MIN_OF_A_KIND} of each).`,
    `Label more traces, likely failures first: ${commandLine`art-e evals label --enriched`}${criterionFlag(criterion)}. Half of the questions are held out, so twice as many labels are needed.${others}`,
  );
}

/** Checks for each threshold level. A check returns the reason for a rejection, or null. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // Good enough for use next to other metrics: the eval separates good from bad better than chance.
  usable: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.8),
    atLeast("true negative rate", "trueNegativeRate", 0.8),
    betterThanChance,
    surelyAtLeast(0.7),
    judges(0.8),
    fewErrors,
  ],
  // Good enough to block a release on its own.
  gate: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.9),
    atLeast("true negative rate", "trueNegativeRate", 0.9),
    betterThanChance,
    surelyAtLeast(0.8),
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

/** Checks a rate against the fraction `least` of the rate that noisy labels allow. */
function atLeast(label: string, rate: "truePositiveRate" | "trueNegativeRate", least: number): Check {
  return ({ agreement, ceiling }) => {
    const { value } = agreement[rate];
    const best = ceiling?.[rate] ?? 1;
    if (value !== null && value >= least * best) return null;
    const wanted = best === 1 ? `${least}` : `${(least * best).toFixed(3)} (${least} of ${best.toFixed(3)})`;
    return `${label} is ${value === null ? "unknown" : value.toFixed(3)} (minimum ${wanted})`;
  };
}

/** Probability of accepting an eval whose true rate is below the floor, in all its tests together. */
const ALPHA_OF_ALL = 0.2;

/**
 * Checks that both rates, free of label errors, are above a floor with certainty. Each test of the same eval is another
 * chance to pass by luck, so that the k-th test has the error probability 0.2 / (k (k + 1)): 0.1 for the first one, and
 * at most 0.2 for all together (alpha spending, Lan and DeMets 1983).
 */
function surelyAtLeast(floor: number): Check {
  return ({ agreement, readsByThisEval: k }) => {
    const bounds = lowerBounds(
      independentCounts(agreement),
      agreement.labelPairs ?? null,
      ALPHA_OF_ALL / (k * (k + 1)),
    );
    const low = [
      bounds.truePositive < floor && `true positive rate might be as low as ${bounds.truePositive.toFixed(2)}`,
      bounds.trueNegative < floor && `true negative rate might be as low as ${bounds.trueNegative.toFixed(2)}`,
    ].filter((text) => text !== false);
    if (low.length === 0) return null;
    return `the ${low.join(", and the ")} (minimum ${floor}, test ${k}): label more traces to find out`;
  };
}

/** If people do not repeat their labels consistently, the labels cannot validate an eval. */
function ceilingAboveChance({ ceiling }: Measured): string | null {
  if (ceiling === null || Math.min(ceiling.truePositiveRate, ceiling.trueNegativeRate) >= 0.5) return null;
  return `about ${Math.round(ceiling.noise * 100)}% of the labels are wrong, based on repeated labels, so they cannot validate an eval`;
}

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
 * Returns how many pairs of labels of the same trace are alike, by one person twice or by two people, or null without
 * pairs. Each pair counts the same, so that a few pairs of one kind do not outweigh many of the other.
 */
export function labelPairs({ selfAgreement, betweenAnnotators, resolved }: LabelSummary): LabelPairs | null {
  const measured = [selfAgreement, betweenAnnotators];
  const n = measured.reduce((sum, one) => sum + one.n, 0);
  const alike = measured.reduce((sum, one) => sum + Math.round((one.value ?? 0) * one.n), 0);
  return n === 0 ? null : { alike, n, ...(resolved === 0 ? {} : { resolved }) };
}

/**
 * Returns the rates that a perfect eval would reach on noisy labels with these total weights. With error probability e,
 * two labels agree with probability (1 - e)^2 + e^2. Returns null if too few labels were repeated.
 */
export function ceilingOf(
  pairs: LabelPairs | null,
  { good, bad }: { readonly good: number; readonly bad: number },
): LabelCeiling | null {
  if (pairs === null || pairs.n < MIN_REPEATS || good + bad === 0) return null;
  // Jeffreys prior: agreement on a few repeated labels does not prove perfect agreement.
  const noise = wrongLabels(pairs, (pairs.alike + 0.5) / (pairs.n + 1)) ?? 0;
  const labelledBad = bad / (good + bad);
  const trulyBad = noise === 0.5 ? 0 : Math.min(1, Math.max(0, (labelledBad - noise) / (1 - 2 * noise)));
  const share = (truly: number, labelled: number) =>
    labelled === 0 ? 0 : Math.min(1, ((1 - noise) * truly) / labelled);
  return {
    noise,
    truePositiveRate: share(1 - trulyBad, 1 - labelledBad),
    trueNegativeRate: share(trulyBad, labelledBad),
  };
}

/**
 * Checks that the eval separates good from bad better than chance: an eval that ignores the trace has rates that add up
 * to 1. Unlike kappa, the sum does not depend on how many traces are bad.
 */
function betterThanChance({ agreement: { truePositiveRate, trueNegativeRate } }: Measured): string | null {
  const sum = (truePositiveRate.low ?? 0) + (trueNegativeRate.low ?? 0);
  if (sum > 1) return null;
  return `the lower bounds of the two rates add up to ${sum.toFixed(3)}, as for chance (must be above 1)`;
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
