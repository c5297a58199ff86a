import { type LabelPairs, rateDespiteLabelErrors } from "../../src/statistics/label-errors.js";
import { type PredictedTrace, predictionPoweredRate } from "../../src/statistics/prediction-powered.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

/**
 * Simulates how often the interval of a corrected rate contains the true rate, by how the labels were drawn. The eval
 * passes 92% of the good traces and 15% of the bad ones.
 */

const TRUE_POSITIVES = 0.92;
const FALSE_POSITIVES = 0.15;
const TRACES = 500;
const LABELS = 80;
const PAIRS = 30;

/**
 * `random`: 80 random traces of the run itself. `earlier`: 80 random traces of an earlier run with 30% bad ones.
 * `balanced`: 40 good and 40 bad traces of an earlier run.
 */
type Draw = "random" | "earlier" | "balanced";

export interface EstimatorLine {
  readonly labels: Draw;
  /** Fraction of wrong labels. */
  readonly errors: number;
  /** Fraction of bad traces in the run. */
  readonly bad: number;
  readonly estimator: "PPI++" | "Rogan-Gladen";
  /** Fraction of the draws whose interval contains the true rate. */
  readonly coverage: number;
  /** Mean width of the interval. */
  readonly width: number;
}

export function benchEstimators(draws: number): EstimatorLine[] {
  const cells = [0, 0.05, 0.1].flatMap((errors) => [0.05, 0.3, 0.6].map((bad) => ({ errors, bad })));
  return cells.flatMap(({ errors, bad }) =>
    (["random", "earlier", "balanced"] as const).flatMap((labels) => estimatorLines(labels, errors, bad, draws)),
  );
}

function estimatorLines(labels: Draw, errors: number, bad: number, draws: number): EstimatorLine[] {
  const sums = new Map<EstimatorLine["estimator"], { held: number; width: number }>();
  for (let i = 0; i < draws; i++) {
    const random = seededRandom(1 + i + Math.round(100_000 * (errors + bad)));
    for (const [estimator, { low, high }] of estimates(labels, errors, bad, (p) => random(1_000_000) < p * 1_000_000)) {
      const sum = sums.get(estimator) ?? { held: 0, width: 0 };
      const holds = (low ?? 0) <= 1 - bad && 1 - bad <= (high ?? 1);
      sums.set(estimator, { held: sum.held + Number(holds), width: sum.width + (high ?? 1) - (low ?? 0) });
    }
  }
  return [...sums].map(([estimator, { held, width }]) => ({
    ...{ labels, errors, bad, estimator, coverage: held / draws, width: width / draws },
  }));
}

/** An eval never sees the label, only the truth. */
function estimates(draw: Draw, errors: number, bad: number, chance: (p: number) => boolean) {
  const passes = (isGood: boolean) => chance(isGood ? TRUE_POSITIVES : FALSE_POSITIVES);
  const traces: PredictedTrace[] = Array.from({ length: TRACES }, (_, i) => {
    const isGood = !chance(bad);
    const good = draw === "random" && i < LABELS ? isGood !== chance(errors) : null;
    return { passed: passes(isGood), good, cluster: String(i) };
  });
  const labeled = draw === "random" ? traces.flatMap(withLabel) : earlier(draw, errors, chance, passes);
  const count = (good: boolean, passed: boolean) =>
    labeled.filter((one) => one.good === good && one.passed === passed).length;
  const table = {
    ...{ goodPassed: count(true, true), goodFailed: count(true, false) },
    ...{ badPassed: count(false, true), badFailed: count(false, false) },
  };
  const observed = { successes: traces.filter(({ passed }) => passed).length, n: TRACES };
  const pairs = labelPairs(errors, chance);
  const byRates = ["Rogan-Gladen", rateDespiteLabelErrors(observed, table, pairs)] as const;
  return draw === "random" ? ([["PPI++", predictionPoweredRate(traces, pairs)], byRates] as const) : [byRates];
}

interface Labeled {
  readonly good: boolean;
  readonly passed: boolean;
}

function withLabel({ good, passed }: PredictedTrace): Labeled[] {
  return good === null ? [] : [{ good, passed }];
}

function earlier(
  draw: Draw,
  errors: number,
  chance: (p: number) => boolean,
  passes: (isGood: boolean) => boolean,
): Labeled[] {
  return Array.from({ length: LABELS }, (_, i) => {
    const isGood = draw === "balanced" ? i % 2 === 0 : chance(0.7);
    return { good: isGood !== chance(errors), passed: passes(isGood) };
  });
}

function labelPairs(errors: number, chance: (p: number) => boolean): LabelPairs {
  const alike = Array.from({ length: PAIRS }, () => chance((1 - errors) ** 2 + errors ** 2)).filter((one) => one);
  return { alike: alike.length, n: PAIRS };
}
