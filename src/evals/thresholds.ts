import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Estimate } from "../statistics/estimate.js";
import { OVERALL } from "./criteria.js";
import type { EvalTest, LabelCeiling, ThresholdName } from "./definition.js";
import type { LabelSummary } from "./labels.js";

/** With fewer labels of a kind nothing is measured. */
export const MIN_OF_A_KIND = 10;
/** With fewer it is said that intervals are wide. */
export const FEW_OF_A_KIND = 20;

/** Below, people disagree with themselves too much for an eval to agree with them. */
export const LOW_SELF_AGREEMENT = 0.8;

/** Throws where a half has too few labels of a kind to measure anything by. */
export function requireLabels(half: "training" | "held-out", good: number, bad: number, criterion: string): void {
  if (good >= MIN_OF_A_KIND && bad >= MIN_OF_A_KIND) return;
  const name = criterion === OVERALL ? "" : ` for ${criterion}`;
  const others = good + bad > 0 ? "" : ` Those of another: --criterion NAME (${commandLine`art-e evals criteria`}).`;
  throw new UserError(
    "labels_few",
    `The ${half} half has ${good} good and ${bad} bad traces${name}; fewer than ${MIN_OF_A_KIND} of a kind measure nothing.`,
    `Label more: ${commandLine`art-e evals label`}, or ${commandLine`art-e evals label --from scores`}. Half of the questions are held out, so twice as many are needed in all.${others}`,
  );
}

type Measured = Pick<EvalTest, "agreement" | "ceiling">;

type Check = (measured: Measured) => string | null;

/** Why an eval is rejected, by the thresholds that are asked for. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // May be used beside other figures: it tells good from bad, and beyond chance.
  usable: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.8),
    atLeast("true negative rate", "trueNegativeRate", 0.8),
    kappaAboveChance,
    judges(0.8),
    fewErrors,
  ],
  // May stop a release by itself.
  gate: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.9),
    atLeast("true negative rate", "trueNegativeRate", 0.9),
    kappaAboveChance,
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

/** Of what labels that contradict themselves allow, where that is less than 1. */
function atLeast(label: string, rate: "truePositiveRate" | "trueNegativeRate", least: number): Check {
  return ({ agreement, ceiling }) => {
    const { value } = agreement[rate];
    const best = ceiling?.[rate] ?? 1;
    if (value !== null && value >= least * best) return null;
    const wanted = best === 1 ? `${least}` : `${(least * best).toFixed(3)} (${least} of ${best.toFixed(3)})`;
    return `${label} is ${value === null ? "not known" : value.toFixed(3)}, wanted at least ${wanted}`;
  };
}

/** What nobody labels twice in the same way proves nothing. */
function ceilingAboveChance({ ceiling }: Measured): string | null {
  if (ceiling === null || Math.min(ceiling.truePositiveRate, ceiling.trueNegativeRate) >= 0.5) return null;
  return `about ${Math.round(ceiling.noise * 100)} % of the labels are wrong, as asking again shows: they prove no eval`;
}

/** What it says nothing of it neither passes nor fails, so it must be little, of good and of bad traces. */
function judges(least: number): Check {
  return ({ agreement: { judged } }) => {
    const few = (["good", "bad"] as const).filter((kind) => (judged[kind] ?? 1) < least);
    if (few.length === 0) return null;
    const shares = few.map((kind) => `${Math.round((judged[kind] ?? 0) * 100)} % of the ${kind} traces`);
    return `it judges only ${shares.join(" and ")}, wanted at least ${least * 100} %`;
  };
}

/** Asked again fewer times, people show nothing of their labels' noise. */
const MIN_REPEATS = 5;

/** How often a trace is labelled twice alike: by one person, or by two, whichever is less. */
export function labelAgreement({ selfAgreement, betweenAnnotators }: LabelSummary): Estimate {
  const measured = [selfAgreement, betweenAnnotators].filter(({ n }) => n >= MIN_REPEATS);
  return measured.sort((a, b) => (a.value ?? 1) - (b.value ?? 1))[0] ?? selfAgreement;
}

/**
 * The rates that an eval without errors would have against labels of which some are wrong: those who err with chance e
 * say the same twice with chance (1 - e)^2 + e^2. Null where too few were asked twice.
 */
export function ceilingOf({ value, n }: Estimate, { good, bad }: { good: number; bad: number }): LabelCeiling | null {
  if (value === null || n < MIN_REPEATS || good + bad === 0) return null;
  // Jeffreys: that a few were said twice alike does not show that all would be.
  const agreement = (value * n + 0.5) / (n + 1);
  const noise = (1 - Math.sqrt(Math.max(0, 2 * agreement - 1))) / 2;
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
