import type { Agreement, EvalTest, ThresholdName } from "../../domain/evals/eval-test.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";

/** With fewer labels of a kind nothing is measured. */
export const MIN_OF_A_KIND = 10;
/** With fewer it is said that intervals are wide. */
export const FEW_OF_A_KIND = 20;

type Measured = Pick<EvalTest, "agreement" | "latencyMs" | "costUsdPerTrace">;

type Check = (measured: Measured) => string | null;

/** Why an eval is rejected, by the thresholds that are asked for. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // May be used beside other figures: it tells good from bad, and beyond chance.
  usable: [
    atLeast("true positive rate", ({ truePositiveRate }) => truePositiveRate, 0.8),
    atLeast("true negative rate", ({ trueNegativeRate }) => trueNegativeRate, 0.8),
    kappaAboveChance,
    fewErrors,
  ],
  // May stop a release by itself.
  gate: [
    atLeast("true positive rate", ({ truePositiveRate }) => truePositiveRate, 0.9),
    atLeast("true negative rate", ({ trueNegativeRate }) => trueNegativeRate, 0.9),
    kappaAboveChance,
    fewErrors,
    ({ agreement: { good } }) => fewOf(good, "good"),
    ({ agreement: { bad } }) => fewOf(bad, "bad"),
  ],
  // The platform whose traces these are accepts by these.
  origin: [
    atLeast("accuracy", ({ accuracy }) => accuracy, 0.8),
    atLeast("kappa", ({ kappa }) => kappa, 0.6),
    atLeast("F1", ({ f1 }) => f1, 0.7),
    ({ latencyMs: { p95 } }) =>
      p95 < 5_000 ? null : `95 % of the traces take up to ${Math.round(p95)} ms, wanted below 5000`,
    ({ costUsdPerTrace: cost }) =>
      cost !== null && cost <= 0.05
        ? null
        : `a trace costs ${cost === null ? "an unknown sum" : `$${cost}`}, wanted at most $0.05`,
  ],
};

const WANTED_OF_A_KIND = 30;

export function rejectionsOf(thresholds: ThresholdName, measured: Measured): string[] {
  return CHECKS[thresholds].flatMap((check) => check(measured) ?? []);
}

function atLeast(label: string, figure: (agreement: Agreement) => Estimate, least: number): Check {
  return ({ agreement }) => {
    const { value } = figure(agreement);
    if (value !== null && value >= least) return null;
    return `${label} is ${value === null ? "not known" : value.toFixed(3)}, wanted at least ${least}`;
  };
}

function kappaAboveChance({ agreement: { kappa } }: Measured): string | null {
  const { low } = kappa;
  if (low !== null && low > 0.2) return null;
  return `the lower bound of kappa is ${low === null ? "not known" : low.toFixed(3)}, wanted above 0.2`;
}

/** Of labelled traces: what an eval cannot tell it neither passes nor fails. */
export const MAX_ERROR_SHARE = 0.05;

function fewErrors({ agreement: { good, bad, notApplicable, errors } }: Measured): string | null {
  const traces = good + bad + notApplicable + errors;
  return errors <= MAX_ERROR_SHARE * traces ? null : `it failed on ${errors} of ${traces} traces, wanted at most 5 %`;
}

function fewOf(n: number, kind: string): string | null {
  return n >= WANTED_OF_A_KIND ? null : `there are ${n} ${kind} traces, wanted at least ${WANTED_OF_A_KIND}`;
}
