import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { belowNormal, belowT, t975 } from "../../src/statistics/intervals/distributions.js";
import { ClusteredMean, meanOf, NamedCounts, wilson } from "../../src/statistics/intervals.js";
import { quantile } from "../../src/statistics/quantile.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

/** Expected values come from SciPy 1.17.1 with the calls in the comments, unless a source is given. */

it("seededRandom draws the same numbers as the reference code of mulberry32, because the order of shuffled tasks depends on them", () => {
  const random = seededRandom(1);
  expect(Array.from({ length: 5 }, () => random(1_000_000))).toEqual([627_073, 2_735, 527_447, 981_050, 968_377]);
});

const SHARE = { min: 0, max: 1 };

const sumsOf = (clusters: readonly (readonly number[])[]) => {
  const sums = new ClusteredMean();
  for (const values of clusters) {
    sums.add(
      values.length,
      values.reduce((sum, value) => sum + value, 0),
    );
  }
  return sums;
};

describe("wilson", () => {
  // Newcombe 1998, table I: 81/263 is 0.2553 to 0.3662, 15/148 is 0.0624 to 0.1605, 0/20 is 0 to 0.1611, 1/29 is 0.0061
  // to 0.1718.
  it.each([
    [81, 263, 0.2552885198782742, 0.36620957698280004],
    [15, 148, 0.06238639953073629, 0.16048724172330803],
    [0, 20, 0, 0.16112515805281935],
    [1, 29, 0.006113214292762667, 0.17175521879320282],
    [1733, 1733, 0.9977882501588243, 1],
  ])("equals for %d out of %d binomtest(...).proportion_ci(method='wilson')", (successes, n, low, high) => {
    const interval = wilson(successes, n);
    expect(interval.low).toBeCloseTo(low, 12);
    expect(interval.high).toBeCloseTo(high, 12);
  });

  it("returns null bounds if there are no values", () => expect(wilson(0, 0)).toEqual({ low: null, high: null }));
});

describe("NamedCounts", () => {
  it("adds 1 by default, and sorts the highest counts first", () => {
    const counts = new NamedCounts();
    counts.add("few");
    counts.addAll({ many: 3, none: 0 });
    expect(Object.entries(counts.counts)).toEqual([
      ["few", 1],
      ["many", 3],
    ]);
    expect(Object.keys(counts.sorted())).toEqual(["many", "few"]);
  });
});

describe("t975 and belowT", () => {
  it.each([
    [1, 12.706204736174694],
    [2, 4.302652729749462],
    [3, 3.1824463052837078],
    [7, 2.364624251592784],
    [30, 2.0422724563012378],
    [1732, 1.961334597531245],
    [3.787234042553192, 2.839055791152274],
    [0.5, 164.55767348048818],
    [0.2, 768848.4797012262],
    [1e7, 1.959964221767205],
  ])("return, for 97.5%% and %d degrees of freedom, stats.t.ppf(.975, df)", (degrees, point) => {
    expect(t975(degrees) / point).toBeCloseTo(1, 9);
  });

  it("return 100 million for fewer than 0.2 degrees of freedom", () => expect(t975(0.19)).toBe(1e8));

  it("return stats.t.cdf below a point", () => {
    expect(belowT(1.5, 7)).toBeCloseTo(0.911350756505015, 10);
    expect(belowT(-2.2, 3)).toBeCloseTo(0.05758597598823534, 10);
    expect(belowT(0.3, 55243)).toBeCloseTo(0.6179108578029071, 8);
  });

  it("equal the normal distribution for very many degrees of freedom", () => {
    expect(t975(1e9)).toBeCloseTo(1.959963984540054, 12);
    expect(belowNormal(1.959963984540054)).toBeCloseTo(0.975, 6);
  });
});

describe("ClusteredMean.mean", () => {
  it("returns stats.t.interval(.95, 5, loc=mean, scale=sem) for six values", () => {
    const { value, n, low, high, method } = sumsOf([[1], [0], [1], [1], [0.5], [0.25]]).mean();
    expect({ value, n, method }).toEqual({ value: 0.625, n: 6, method: "t" });
    expect(low).toBeCloseTo(0.1630694720063367, 8);
    expect(high).toBeCloseTo(1.0869305279936632, 8);
  });

  it("limits the interval to the end of the scale", () => {
    const ranks = sumsOf([[1], [4]]);
    expect(ranks.mean().low).toBeLessThan(0);
    expect(ranks.mean({ min: 1 })).toMatchObject({ value: 2.5, low: 1, high: ranks.mean().high, method: "t" });
  });

  it("returns null bounds for one value, or if all values are equal and there is no scale", () => {
    expect(sumsOf([[0.4]]).mean()).toEqual({ value: 0.4, n: 1, low: null, high: null });
    expect(sumsOf([[0.4]]).mean(SHARE)).toEqual({ value: 0.4, n: 1, low: null, high: null });
    expect(sumsOf([[0.1], [0.1], [0.1]]).mean()).toEqual({ value: expect.closeTo(0.1), n: 3, low: null, high: null });
  });

  it("returns no estimate if there are no values", () => {
    expect(sumsOf([]).mean()).toEqual({ value: null, n: 0, low: null, high: null });
    expect(sumsOf([[]]).rate()).toEqual({ value: null, n: 0, low: null, high: null });
  });
});

describe("ClusteredMean.mean on a scale with two ends", () => {
  // NumPy and SciPy, from the values themselves: v = max(s2/n, ((n-1) * s2/n + 2 * m(1-m)/n) / (n+1)), n_eff = m(1-m)/v
  // * (z/t(n))**2.
  it.each([
    [[1, 0, 1, 1, 0.5, 0.25], SHARE, 0.23093471436629276, 0.9024450560310167],
    [[0.3, 0.7], SHARE, 0.03164508576028091, 0.9683549142397191],
    [[0.1, 0.1, 0.1], SHARE, 0.005337182463407808, 0.6970431145565581],
    [[-1.8, 1.4, 0.3, 1.1], { min: -2, max: 1.5 }, -1.4154081702214172, 1.2960153046229461],
  ])("returns for %j Wilson's interval over the effective number of values", (values, scale, low, high) => {
    const estimate = sumsOf(values.map((value) => [value])).mean(scale);
    expect(estimate.method).toBe("wilson_mean");
    expect(estimate.low).toBeCloseTo(low, 8);
    expect(estimate.high).toBeCloseTo(high, 8);
  });

  it("never leaves the scale, and has bounds even if all values are equal, even at an end", () => {
    for (const values of [
      [0, 1],
      [0.95, 1, 1],
      [1, 1, 1],
      [0, 0],
      [0.5, 0.5, 0.5, 0.5],
      [1e-9, 0],
    ]) {
      const { value, low, high } = sumsOf(values.map((one) => [one])).mean(SHARE);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(low).toBeLessThanOrEqual(value ?? 0);
      expect(high).toBeGreaterThanOrEqual(value ?? 0);
      expect((high ?? 0) - (low ?? 0)).toBeGreaterThan(0.1);
    }
    expect(sumsOf([[1], [1], [1]]).mean(SHARE)).toMatchObject({ low: expect.closeTo(0.22851981380632902, 8), high: 1 });
  });

  it("equals 1.96 standard errors for very many values", () => {
    const values = Array.from({ length: 20_000 }, (_, i) => [(i % 100) / 100]);
    const { value, low, high } = sumsOf(values).mean(SHARE);
    // The standard deviation of 0, 0.01, ..., 0.99 is sqrt(9999/12)/100.
    const half = (1.959964 * Math.sqrt(9999 / 12)) / 100 / Math.sqrt(20_000);
    expect(value).toBeCloseTo(0.495, 10);
    expect(low).toBeCloseTo(0.495 - half, 5);
    expect(high).toBeCloseTo(0.495 + half, 5);
  });
});

describe("ClusteredMean with clusters", () => {
  it("combines two sets of clusters", () => {
    const [some, others] = [
      [[1, 0, 1], [1]],
      [[0, 0], [1, 1, 1, 0, 1], [0]],
    ];
    const both = sumsOf([...(some ?? []), ...(others ?? [])]);
    const union = sumsOf(some ?? []).union(sumsOf(others ?? []));
    expect([union.rate(), union.mean(), union.mean(SHARE)]).toEqual([both.rate(), both.mean(), both.mean(SHARE)]);
  });

  it("returns null bounds, despite rounding errors, if all values are equal and there is no scale", () => {
    const equal = sumsOf([[0.1, 0.1, 0.1], [0.1], [0.1, 0.1]]);
    expect(equal.mean()).toEqual({ value: expect.closeTo(0.1), n: 6, low: null, high: null });
  });

  const clusters = [
    [1, 1, 0],
    [1, 1, 1],
    [0, 0, 1],
    [0, 1, 1, 1],
    [0, 0],
  ];

  // NumPy: var = G/(G-1) * sum((sum(c) - r*len(c))**2) / n**2, the CR1 sandwich of a regression on a constant, with
  // G = n**2 / sum(len(c)**2) = 4.7872, the effective number of unequal clusters.
  it("returns the cluster-robust interval with t of G - 1 for a mean", () => {
    const { value, n, low, high, method } = sumsOf(clusters).mean();
    expect({ value, n, method }).toEqual({ value: 0.6, n: 15, method: "clustered_t" });
    expect(low).toBeCloseTo(0.17868496322223348, 8);
    expect(high).toBeCloseTo(1.0213150367777666, 8);
  });

  // NumPy, from the same variance: n_eff = n / deff * (z/t)**2 = 5.1939, and Wilson's formula.
  it("returns for a rate Wilson's interval over the effective number of tasks, within 0 and 1", () => {
    const { value, low, high, method } = sumsOf(clusters).rate();
    expect({ value, method }).toEqual({ value: 0.6, method: "clustered_wilson" });
    expect(low).toBeCloseTo(0.23523327834432184, 8);
    expect(high).toBeCloseTo(0.8797350301031854, 8);
  });

  it("returns for a mean on a scale Wilson's interval", () => {
    const { value, low, high, method } = sumsOf(clusters).mean(SHARE);
    expect({ value, method }).toEqual({ value: 0.6, method: "clustered_wilson_mean" });
    expect(low).toBeCloseTo(0.24295861265119656, 8);
    expect(high).toBeCloseTo(0.8751690920355634, 8);
  });

  it("returns a very wide interval if one cluster contains nearly everything", () => {
    const large = Array.from({ length: 1_000 }, (_, i) => i % 2);
    for (const estimate of [sumsOf([large, [1]]).rate(), sumsOf([large, [1]]).mean(SHARE)]) {
      expect(estimate.low).toBeLessThan(0.01);
      expect(estimate.high).toBeGreaterThan(0.99);
    }
  });

  it("returns Wilson's plain interval if each cluster has one value", () => {
    const singles = [1, 0, 1, 1].map((value) => [value]);
    expect(sumsOf(singles).rate()).toEqual({ value: 0.75, n: 4, ...wilson(3, 4), method: "wilson" });
  });

  it("counts each cluster as one value if its values are identical", () => {
    const same = sumsOf(Array.from({ length: 30 }, (_, i) => (i < 10 ? [1, 1, 1, 1] : [0, 0, 0, 0]))).rate();
    const once = wilson(10, 30);
    expect(same.low).toBeLessThan(once.low ?? 0);
    expect(same.low).toBeGreaterThan((once.low ?? 0) - 0.02);
    const right = sumsOf(Array.from({ length: 30 }, () => [1, 1, 1, 1])).rate();
    expect(right).toMatchObject({ value: 1, n: 120, high: 1 });
    expect(right.low).toBeLessThan(wilson(30, 30).low ?? 0);
  });

  it("returns null bounds if there is only one cluster", () => {
    expect(sumsOf([[1, 0, 1]]).rate()).toEqual({ value: 2 / 3, n: 3, low: null, high: null });
  });
});

it.each([
  [[30, 10, 20], 0.5, 20],
  [[40, 10, 30, 20], 0.5, 20],
  [[40, 10, 30, 20], 0.51, 30],
  [[40, 10, 30, 20], 0.75, 30],
  [[10, 9, 100], 0.95, 100],
  [[7], 0.01, 7],
  [[3, 1, 2], 0, 1],
  [[3, 1, 2], 1, 3],
])("quantile of %j at %d equals %d", (values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});

it("quantile returns the smallest value that the given fraction of values does not exceed", () => {
  const values = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 100 }), (list, percent) => {
      const isReached = (value: number) => 100 * list.filter((other) => other <= value).length >= percent * list.length;
      expect(quantile(list, percent / 100)).toBe(Math.min(...list.filter(isReached)));
    }),
  );
});

it("quantile does not reorder its input", () => {
  const values = [3, 1, 2];
  quantile(values, 0.5);
  expect(values).toEqual([3, 1, 2]);
});

it("meanOf and quantile return null if the list is empty", () => {
  expect(quantile([], 0.5)).toBeNull();
  expect(meanOf([])).toBeNull();
  expect(meanOf([1, 2, 6])).toBe(3);
});
