import { describe, expect, it } from "vitest";
import { drawInOrder } from "../../src/evals/labeling/enriched-draw.js";
import { rateDespiteLabelErrors } from "../../src/statistics/label-errors.js";
import { type PredictedTrace, predictionPoweredRate } from "../../src/statistics/prediction-powered.js";
import { samplingWeight } from "../../src/statistics/sampling-weight.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";
import { slow } from "../machine-requirements.js";

const TRACES = 400;
const LABELS = 80;

/** A run with random labels, judged by an eval that passes 92% of the good traces and `passedBad` of the bad ones. */
function simulate(seed: number, { bad, errors = 0, passedBad = 0.15, repeats = 30 }: Simulated) {
  const random = seededRandom(seed);
  const chance = (p: number) => random(1_000_000) < p * 1_000_000;
  const traces = Array.from({ length: TRACES }, (_, i) => {
    const isGood = !chance(bad);
    const passed = chance(isGood ? 0.92 : passedBad);
    const label = isGood !== chance(errors);
    return { passed, label, good: i < LABELS ? label : null, cluster: String(i) };
  });
  const alike = Array.from({ length: repeats }, () => chance((1 - errors) ** 2 + errors ** 2)).filter((one) => one);
  const count = (good: boolean, passed: boolean) =>
    traces.filter((one) => one.good === good && one.passed === passed).length;
  return {
    traces,
    pairs: { alike: alike.length, n: repeats },
    observed: { successes: traces.filter(({ passed }) => passed).length, n: TRACES },
    table: {
      goodPassed: count(true, true),
      goodFailed: count(true, false),
      badPassed: count(false, true),
      badFailed: count(false, false),
    },
  };
}

/** Draws the labels again: traces that the eval fails are 13 times as likely. */
function enriched({ traces, pairs }: ReturnType<typeof simulate>, seed: number) {
  const weights = new Map(traces.map(({ passed, cluster }) => [cluster, passed ? 1 : 13]));
  const drawn = drawInOrder(weights, String(seed)).slice(0, LABELS);
  const weightOf = new Map(drawn.map((one) => [one.traceId, samplingWeight(one, TRACES - LABELS)]));
  const labeled = traces.map(({ label, ...one }): PredictedTrace => {
    const weight = weightOf.get(one.cluster);
    return weight === undefined ? { ...one, good: null } : { ...one, good: label, weight };
  });
  return { traces: labeled, pairs };
}

interface Simulated {
  readonly bad: number;
  readonly errors?: number;
  readonly passedBad?: number;
  readonly repeats?: number;
}

const SAMPLES = 400;

describe("predictionPoweredRate", () => {
  it("returns the values computed by hand", () => {
    // Labels 1 1 1 0 for results 1 1 0 0: covariance 1/8, variance 1/4. With 6 other traces, lambda is
    // (1/8) / (1/4) / (1 + 4/6) = 0.3. The rate is 3/4 - 0.3 (1/2 - 5/6) = 0.85.
    const labeled = [
      [true, true],
      [true, true],
      [false, true],
      [false, false],
    ].map(([passed = false, good = false], i) => ({ passed, good, cluster: String(i) }));
    const others = Array.from({ length: 6 }, (_, i) => ({ passed: i > 0, good: null, cluster: `other ${i}` }));
    const { value, n } = predictionPoweredRate([...labeled, ...others], null);
    expect(value).toBeCloseTo(0.85, 12);
    expect(n).toBe(10);
  });

  it("weights labels, as computed by hand", () => {
    // Labels 1 0 0 with weights 2 1 1 for results 1 1 0: means 1/2 and 3/4, covariance 1/8, variance 3/16, beta 2/3.
    // The weighted mean of the residuals is (2/3 - 2/3) / 4 = 0. With 3 other traces that pass, 5 of 6 pass: 2/3 * 5/6.
    const labeled = [
      [true, true, 2],
      [true, false, 1],
      [false, false, 1],
    ] as const;
    const traces = labeled.map(([passed, good, weight], i) => ({ passed, good, weight, cluster: String(i) }));
    const others = Array.from({ length: 3 }, (_, i) => ({ passed: true, good: null, cluster: `other ${i}` }));
    expect(predictionPoweredRate([...traces, ...others], null).value).toBeCloseTo(5 / 9, 12);
    // Weights that are all equal change nothing.
    const equal = (weight: number) => traces.map((one) => ({ ...one, weight }));
    expect(predictionPoweredRate([...equal(0.4), ...others], null).low).toBeCloseTo(
      predictionPoweredRate([...equal(1), ...others], null).low ?? 0,
      12,
    );
  });

  // NumPy, from the formulas: covariances with these weights, and sums of clusters, without and with the CR1 factor. With
  // pairs, the bounds are those of the seeded draws.
  it.each([
    [null, 0.742063492063, 0.4910669774, 0.895591993981],
    [{ alike: 0, n: 0 }, 0.742063492063, 0.4910669774, 0.895591993981],
    [{ alike: 27, n: 30, again: { good: 0, bad: 0.4 } }, 0.748274531787, 0.465491389197, 0.940133786291],
  ])("returns the interval for weighted labels in clusters, with the pairs %j", (pairs, value, low, high) => {
    const traces = Array.from({ length: 30 }, (_, i) => {
      const passed = i % 3 > 0;
      const good = i < 18 ? passed === i % 5 > 0 : null;
      return { passed, good, weight: i % 4 === 0 ? 2 : 0.5, cluster: String(Math.floor(i / 2)) };
    });
    const figures = [value, low, high].map((figure) => expect.closeTo(figure, 9));
    const rate = predictionPoweredRate(traces, pairs);
    expect([rate.value, rate.low, rate.high]).toEqual(figures);
  });

  it("returns the labeled rate if the eval passes everything", () => {
    const traces = Array.from({ length: 50 }, (_, i) => ({
      passed: true,
      good: i < 20 ? i < 15 : null,
      cluster: `${i}`,
    }));
    expect(predictionPoweredRate(traces, null).value).toBeCloseTo(0.75, 12);
  });

  it("solves the rate for wrong labels", () => {
    const traces = Array.from({ length: 100 }, (_, i) => ({ passed: true, good: i < 66, cluster: `${i}` }));
    // 10% wrong labels turn a rate of 0.7 into 0.66.
    expect(predictionPoweredRate(traces, { alike: 820, n: 1_000 }).value).toBeCloseTo(0.7, 9);
  });

  it("widens the interval by the variance of wrong labels even if each label equals the result", () => {
    const traces = Array.from({ length: 100 }, (_, i) => ({ passed: i < 50, good: i < 50, cluster: String(i) }));
    // 30% wrong labels: the variance 1/4 / 99 + 0.3 * 0.7 / 100 is that of 55 labels. The bounds are
    // (q - 0.3) / 0.4 for SciPy's quantiles q of the beta distribution with the parameters 28 and 28.
    const { low, high } = predictionPoweredRate(traces, { alike: 580_000, n: 1_000_000 });
    expect(Math.abs((low ?? 0) - 0.177)).toBeLessThan(0.02);
    expect(Math.abs((high ?? 0) - 0.823)).toBeLessThan(0.02);
  });

  it("returns Wilson's interval for the number of labels if all labels are good", () => {
    const traces = Array.from({ length: 20 }, (_, i) => ({ passed: true, good: true, cluster: String(i) }));
    const { value, low } = predictionPoweredRate(traces, null);
    expect(value).toBe(1);
    // 20 / (20 + 1.959964²)
    expect(low).toBeCloseTo(0.83887, 5);
  });

  it("returns a wide interval for one good and one bad label", () => {
    const traces = [true, false].map((good) => ({ passed: true, good, cluster: String(good) }));
    // The variance 1/4 of rare = 1 label, and that of 2 more: 1/4 / ((1/4 + 2 * 1/8) / 3) = 1.5 labels in Wilson's formula.
    const bounds = { low: expect.closeTo(0.075978231493, 9), high: expect.closeTo(0.924021768507, 9) };
    expect(predictionPoweredRate(traces, null)).toMatchObject({ value: 0.5, ...bounds });
  });

  it("returns nothing for fewer than two labels", () =>
    expect(predictionPoweredRate([{ passed: true, good: true, cluster: "1" }], null).value).toBeNull());

  const coversIn93To97 = ({ errors, bad }: { errors: number; bad: number }) => {
    let held = 0;
    for (let i = 0; i < SAMPLES; i++) {
      const { traces, pairs } = simulate(1 + i + 10_000 * (errors + bad), { bad, errors });
      const { low, high } = predictionPoweredRate(traces, errors === 0 ? null : pairs);
      if ((low ?? 1) <= 1 - bad && 1 - bad <= (high ?? 0)) held++;
    }
    // Two standard errors of 400 samples.
    expect(held / SAMPLES).toBeGreaterThanOrEqual(0.93 - 0.025);
    expect(held / SAMPLES).toBeLessThanOrEqual(0.97 + 0.017);
  };
  const COVERS = "has an interval that covers the true rate in 93 to 97% of samples: $errors wrong labels, $bad bad";
  const OTHERS = [
    { errors: 0, bad: 0.05 },
    { errors: 0, bad: 0.6 },
    { errors: 0.05, bad: 0.3 },
    { errors: 0.05, bad: 0.6 },
  ];
  it.each([
    { errors: 0, bad: 0.3 },
    { errors: 0.05, bad: 0.05 },
  ])(COVERS, coversIn93To97);
  it.each(OTHERS)(COVERS, slow(), coversIn93To97);

  const coversWeighted = ({ errors, bad }: { errors: number; bad: number }) => {
    let held = 0;
    for (let i = 0; i < SAMPLES; i++) {
      const { traces, pairs } = enriched(simulate(1 + i, { bad, errors }), i);
      const { low, high } = predictionPoweredRate(traces, pairs);
      if ((low ?? 1) <= 1 - bad && 1 - bad <= (high ?? 0)) held++;
    }
    // With the observed variance only, it was below 0.90.
    expect(held / SAMPLES).toBeGreaterThanOrEqual(0.93);
  };
  const WEIGHTED =
    "covers the true rate with weighted labels, which few errors with high weights decide: $errors wrong labels, $bad bad";
  it.each([{ errors: 0.05, bad: 0.05 }])(WEIGHTED, coversWeighted);
  it.each([{ errors: 0.1, bad: 0.3 }])(WEIGHTED, slow(), coversWeighted);

  it("returns an interval of at most 0.65 times the width of the one from the eval's error rates, and covers a changed agent", () => {
    const widths = { ppi: 0, rates: 0 };
    const held = { ppi: 0, rates: 0 };
    // The error rates come from labels of another agent, whose bad answers the eval notices more often.
    const before = simulate(99_999, { bad: 0.3 });
    for (let i = 0; i < 200; i++) {
      const same = simulate(1 + i, { bad: 0.3 });
      const [one, other] = [
        predictionPoweredRate(same.traces, null),
        rateDespiteLabelErrors(same.observed, same.table, null),
      ];
      widths.ppi += (one.high ?? 1) - (one.low ?? 0);
      widths.rates += (other.high ?? 1) - (other.low ?? 0);
      const changed = simulate(1 + i, { bad: 0.3, passedBad: 0.7 });
      const isHeld = ({ low, high }: typeof one) => Number((low ?? 1) <= 0.7 && (high ?? 0) >= 0.7);
      held.ppi += isHeld(predictionPoweredRate(changed.traces, null));
      held.rates += isHeld(rateDespiteLabelErrors(changed.observed, before.table, null));
    }
    expect(widths.ppi / widths.rates).toBeLessThanOrEqual(0.65);
    expect(held.ppi / 200).toBeGreaterThanOrEqual(0.91);
    expect(held.rates / 200).toBeLessThan(0.5);
  }, 30_000);
});

it("gives a label without a weight the weight 1", () => {
  const { traces, pairs } = simulate(1, { bad: 0.3 });
  const some = traces.map((one, i) => (i % 2 === 0 ? one : { ...one, weight: 1 }));
  expect(predictionPoweredRate(some, pairs)).toEqual(predictionPoweredRate(traces, pairs));
});

describe("predictionPoweredRate of a rare mode whose labels were looked at again", () => {
  const [RATE, ERRORS, N] = [0.08, 0.05, 10_000];
  // A trace keeps the mode if both looks say so.
  const kept = Math.round(N * (RATE * (1 - ERRORS) ** 2 + (1 - RATE) * ERRORS ** 2));
  const traces = Array.from({ length: N }, (_, i) => ({ passed: false, good: i < kept, cluster: String(i) }));
  const pairs = { alike: 1_000 * ((1 - ERRORS) ** 2 + ERRORS ** 2), n: 1_000 };

  it("equals the true rate", () => {
    const { value, low, high } = predictionPoweredRate(traces, { ...pairs, again: { good: 1, bad: 0 } });
    expect(value).toBeCloseTo(RATE, 3);
    expect((low ?? 1) < RATE && RATE < (high ?? 0)).toBe(true);
  });

  it("would be much too low if only single looks were assumed", () => {
    expect(predictionPoweredRate(traces, pairs).value).toBeLessThan(RATE / 2);
  });
});
