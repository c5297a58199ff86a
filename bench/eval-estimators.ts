import { independentCounts } from "../src/evals/label-error-correction.js";
import { drawInOrder, drawWeights } from "../src/evals/labeling/enriched-draw.js";
import { measureAgreement } from "../src/evals/test-eval/agreement.js";
import { type LabelPairs, rateDespiteLabelErrors } from "../src/statistics/label-errors.js";
import { type PredictedTrace, predictionPoweredRate } from "../src/statistics/prediction-powered.js";
import { samplingWeight } from "../src/statistics/sampling-weight.js";
import { seededRandom } from "../src/statistics/seeded-random.js";

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
 * `random`: 80 random traces of the run itself. `enriched`: 80 traces of the run, likely failures more often. `earlier`:
 * 80 random traces of an earlier run with 30% bad ones. `balanced`: 40 good and 40 bad traces of an earlier run.
 */
type Draw = "random" | "enriched" | "earlier" | "balanced";

/** A score calls these fractions of the bad and of the good traces bad. */
const DOUBTED = { bad: 0.7, good: 0.15 };

export interface EstimatorLine {
  readonly labels: Draw;
  /** Fraction of wrong labels. */
  readonly errors: number;
  /** Fraction of bad traces in the run. */
  readonly bad: number;
  readonly estimator: "PPI++" | "PPI++ without weights" | "Rogan-Gladen";
  /** Fraction of the draws whose interval contains the true rate. */
  readonly coverage: number;
  /** Mean width of the interval. */
  readonly width: number;
}

export function benchEstimators(draws: number): EstimatorLine[] {
  const cells = [0, 0.05, 0.1].flatMap((errors) => [0.05, 0.3, 0.6].map((bad) => ({ errors, bad })));
  return cells.flatMap(({ errors, bad }) =>
    (["random", "enriched", "earlier", "balanced"] as const).flatMap((labels) =>
      estimatorLines(labels, errors, bad, draws),
    ),
  );
}

function estimatorLines(labels: Draw, errors: number, bad: number, draws: number): EstimatorLine[] {
  const sums = new Map<EstimatorLine["estimator"], { held: number; width: number }>();
  for (let i = 0; i < draws; i++) {
    const random = seededRandom(1 + i + Math.round(100_000 * (errors + bad)));
    const chance = (p: number) => random(1_000_000) < p * 1_000_000;
    for (const [estimator, { low, high }] of estimates(labels, { errors, bad, seed: String(i) }, chance)) {
      const sum = sums.get(estimator) ?? { held: 0, width: 0 };
      const holds = (low ?? 0) <= 1 - bad && 1 - bad <= (high ?? 1);
      sums.set(estimator, { held: sum.held + Number(holds), width: sum.width + (high ?? 1) - (low ?? 0) });
    }
  }
  return [...sums].map(([estimator, { held, width }]) => ({
    labels,
    errors,
    bad,
    estimator,
    coverage: held / draws,
    width: width / draws,
  }));
}

interface World {
  readonly errors: number;
  readonly bad: number;
  readonly seed: string;
}

/** An eval never sees the label, only the truth. */
function estimates(draw: Draw, { errors, bad, seed }: World, chance: (p: number) => boolean) {
  const passes = (isGood: boolean) => chance(isGood ? TRUE_POSITIVES : FALSE_POSITIVES);
  const goods = Array.from({ length: TRACES }, () => !chance(bad));
  const unlabeled = goods.map((isGood, i) => ({ passed: passes(isGood), good: null, cluster: String(i) }));
  const weights = draw === "enriched" ? enrichedWeights(goods, unlabeled, chance, seed) : randomWeights(draw);
  const traces: PredictedTrace[] = unlabeled.map((one, i) => {
    const weight = weights.get(i);
    return weight === undefined ? one : { ...one, good: (goods[i] === true) !== chance(errors), weight };
  });
  const labeled = weights.size > 0 ? traces.flatMap(withLabel) : earlier(draw, errors, chance, passes);
  const observed = { successes: traces.filter(({ passed }) => passed).length, n: TRACES };
  const pairs = labelPairs(errors, chance);
  const table = independentCounts(
    measureAgreement(
      labeled.map(({ good, passed, weight }, i) => ({
        question: String(i),
        bad: !good,
        source: "person",
        weight,
        score: Number(passed),
        error: null,
      })),
    ),
  );
  const byRates = ["Rogan-Gladen", rateDespiteLabelErrors(observed, table, pairs)] as const;
  const byLabels = ["PPI++", predictionPoweredRate(traces, pairs)] as const;
  if (draw === "random") return [byLabels, byRates] as const;
  if (draw !== "enriched") return [byRates] as const;
  const unweighted = traces.map(({ weight: _, ...one }) => one);
  return [byLabels, ["PPI++ without weights", predictionPoweredRate(unweighted, pairs)], byRates] as const;
}

function randomWeights(draw: Draw): ReadonlyMap<number, number> {
  return new Map(draw === "random" ? Array.from({ length: LABELS }, (_, i) => [i, 1]) : []);
}

/** Draws traces like the label queue, from a score that is sometimes wrong and the eval, which is in use. */
function enrichedWeights(
  goods: readonly boolean[],
  traces: readonly PredictedTrace[],
  chance: (p: number) => boolean,
  seed: string,
): ReadonlyMap<number, number> {
  const signals = goods.map((isGood, i) => ({
    traceId: String(i),
    doubt: Number(chance(isGood ? DOUBTED.good : DOUBTED.bad)),
    failed: [],
    words: 10,
    amounts: {},
    failsActive: traces[i]?.passed === false,
  }));
  const drawn = drawInOrder(drawWeights(signals), seed).slice(0, LABELS);
  return new Map(drawn.map((one) => [Number(one.traceId), samplingWeight(one, TRACES - LABELS)]));
}

interface Labeled {
  readonly good: boolean;
  readonly passed: boolean;
  readonly weight: number;
}

function withLabel({ good, passed, weight = 1 }: PredictedTrace): Labeled[] {
  return good === null ? [] : [{ good, passed, weight }];
}

function earlier(
  draw: Draw,
  errors: number,
  chance: (p: number) => boolean,
  passes: (isGood: boolean) => boolean,
): Labeled[] {
  return Array.from({ length: LABELS }, (_, i) => {
    const isGood = draw === "balanced" ? i % 2 === 0 : chance(0.7);
    return { good: isGood !== chance(errors), passed: passes(isGood), weight: 1 };
  });
}

function labelPairs(errors: number, chance: (p: number) => boolean): LabelPairs {
  const alike = Array.from({ length: PAIRS }, () => chance((1 - errors) ** 2 + errors ** 2)).filter((one) => one);
  return { alike: alike.length, n: PAIRS };
}
