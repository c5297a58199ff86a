import { describe, expect, it } from "vitest";
import { correctedRate } from "../../src/statistics/agreement.js";
import { wilson } from "../../src/statistics/intervals.js";
import {
  correctedRateWithLabelErrors,
  type LabeledCounts,
  labelErrorRate,
  ratesWithoutLabelErrors,
} from "../../src/statistics/label-errors.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

/** Expected counts for 1,000 labels, computed from the truth. */
function expectedCounts(good: number, tpr: number, tnr: number, e: number): LabeledCounts {
  const [a, b, c, d] = [good * tpr, good * (1 - tpr), (1 - good) * (1 - tnr), (1 - good) * tnr];
  return {
    goodPassed: 1_000 * ((1 - e) * a + e * c),
    goodFailed: 1_000 * ((1 - e) * b + e * d),
    badPassed: 1_000 * ((1 - e) * c + e * a),
    badFailed: 1_000 * ((1 - e) * d + e * b),
  };
}

const agreementAt = (e: number) => (1 - e) ** 2 + e ** 2;

describe("labelErrorRate", () => {
  it("solves the probability that two labels agree", () => {
    const { value, low, high } = labelErrorRate({ value: agreementAt(0.1), n: 100, low: 0.5, high: agreementAt(0.05) });
    expect([value, low, high]).toEqual([expect.closeTo(0.1, 12), expect.closeTo(0.05, 12), 0.5]);
    expect(labelErrorRate({ value: 0.4, n: 10, ...wilson(4, 10) }).value).toBe(0.5);
  });
});

describe("rates without label errors", () => {
  it.each([0, 0.05, 0.1, 0.2])("are the true ones at an error rate of %d", (e) => {
    const repeats = { successes: agreementAt(e) * 500, n: 500 };
    const rates = ratesWithoutLabelErrors(expectedCounts(0.7, 0.92, 0.85, e), repeats);
    expect(rates.truePositiveRate.value).toBeCloseTo(0.92, 9);
    expect(rates.trueNegativeRate.value).toBeCloseTo(0.85, 9);
    const run = { successes: (0.4 * 0.92 + 0.6 * 0.15) * 500, n: 500 };
    const { value } = correctedRateWithLabelErrors(run, expectedCounts(0.7, 0.92, 0.85, e), repeats);
    expect(value).toBeCloseTo(0.4, 9);
  });

  it("have no corrected rate at chance level or without labels", () => {
    const repeats = { successes: 45, n: 50 };
    const run = { successes: 50, n: 100 };
    expect(correctedRateWithLabelErrors(run, expectedCounts(0.5, 0.5, 0.5, 0), repeats).value).toBeNull();
    const empty = { goodPassed: 10, goodFailed: 0, badPassed: 0, badFailed: 0 };
    expect(correctedRateWithLabelErrors(run, empty, repeats).value).toBeNull();
  });
});

const SAMPLES = 250;
/** Two standard errors below 0.93 and above 0.97. */
const [LEAST, MOST] = [0.93 - 0.032, 0.97 + 0.022];

describe("correctedRateWithLabelErrors", () => {
  const cases = [0, 0.05, 0.1].flatMap((e) =>
    [0.05, 0.3, 0.6].map((bad) => ({ errors: `${100 * e}%`, badTraces: `${100 * bad}%`, e, bad })),
  );

  /** 120 labels of a run with 30% bad traces, 20 of them repeated, for a run with other traces. */
  function simulate(e: number, bad: number, seed: number) {
    const random = seededRandom(seed);
    const chance = (p: number) => random(1_000_000) < p * 1_000_000;
    const counts = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
    for (let i = 0; i < 120; i++) {
      const isGood = chance(0.7);
      const passes = chance(isGood ? 0.92 : 0.15);
      counts[`${isGood !== chance(e) ? "good" : "bad"}${passes ? "Passed" : "Failed"}`]++;
    }
    const count = (n: number, event: () => boolean) => ({
      ...{ successes: Array.from({ length: n }, event).filter((one) => one).length, n },
    });
    return {
      counts,
      repeats: count(20, () => chance(agreementAt(e))),
      run: count(200, () => chance(chance(bad) ? 0.15 : 0.92)),
    };
  }

  it.each(cases)(
    "has an interval that covers the truth in 93 to 97% of samples: $errors wrong labels, $badTraces bad",
    ({ e, bad }) => {
      let held = 0;
      for (let i = 0; i < SAMPLES; i++) {
        const { counts, repeats, run } = simulate(e, bad, 1 + i + 100_000 * (e + bad));
        const { low, high } = correctedRateWithLabelErrors(run, counts, repeats);
        if ((low ?? 1) <= 1 - bad && 1 - bad <= (high ?? 0)) held++;
      }
      expect(held / SAMPLES).toBeGreaterThanOrEqual(LEAST);
      expect(held / SAMPLES).toBeLessThanOrEqual(MOST);
    },
    60_000,
  );

  it("is needed: a correction that trusts the labels misses the truth in a quarter of the samples", () => {
    let held = 0;
    for (let i = 0; i < SAMPLES; i++) {
      const { counts, run } = simulate(0.1, 0.6, 1 + i);
      const { goodPassed, goodFailed, badPassed, badFailed } = counts;
      const { low, high } = correctedRate(
        run,
        { successes: goodPassed, n: goodPassed + goodFailed },
        { successes: badFailed, n: badPassed + badFailed },
      );
      if ((low ?? 1) <= 0.4 && 0.4 <= (high ?? 0)) held++;
    }
    expect(held / SAMPLES).toBeLessThan(0.75);
  });
});
