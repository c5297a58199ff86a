import { describe, expect, it } from "vitest";
import { comparePairs } from "../../src/analysis/paired-comparison.js";
import { type Claim, ClaimTest } from "../../src/analysis/sequential-comparison.js";
import { DesignEffect } from "../../src/statistics/design-effect.js";
import { pairedDifference, signFlipTest } from "../../src/statistics/significance.js";
import { slow } from "../machine-requirements.js";
import { expectBetween, LONG, TIMES, worlds } from "./simulated-runs.js";

/**
 * False verdicts over questions in clusters (mailboxes or threads) that agree with each other, with and without the
 * clusters. ART_E_LONG=1 simulates 1,000 runs per line and prints the results.
 */

const RUNS = 50 * TIMES;

/** Two standard errors above 5%, because in few runs a rate of 5% is often higher by chance. */
const MOST = 0.05 + 2 * Math.sqrt((0.05 * 0.95) / RUNS);
const { uniform } = worlds(62);

interface World {
  readonly clusters: number;
  readonly questions: number;
  /** Correlation of two questions in a cluster. */
  readonly correlation: number;
  readonly wins: number;
  readonly losses: number;
}

interface Drawn {
  readonly gain: number;
  readonly cluster: string;
}

/** Draws from the beta distribution with this mean and correlation, as a quotient of gamma variables. */
function beta(mean: number, correlation: number): number {
  if (correlation === 0 || mean === 0 || mean === 1) return mean;
  const total = 1 / correlation - 1;
  const [a, b] = [gamma(mean * total), gamma((1 - mean) * total)];
  return a / (a + b);
}

/** Marsaglia and Tsang (2000). */
function gamma(shape: number): number {
  if (shape < 1) return gamma(shape + 1) * uniform() ** (1 / shape);
  const d = shape - 1 / 3;
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(1 - uniform()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Draws a run's gains in random order. In some clusters, the candidate wins more often, in others the baseline. */
function draw({ clusters, questions, correlation, wins, losses }: World): Drawn[] {
  const different = wins + losses;
  const drawn = Array.from({ length: clusters }, (_, cluster) => {
    const winning = different * beta(wins / different, correlation);
    return Array.from({ length: questions }, () => {
      const at = uniform();
      return { order: uniform(), cluster: String(cluster), gain: at < winning ? 1 : at < different ? -1 : 0 };
    });
  });
  return drawn.flat().sort((a, b) => a.order - b.order);
}

function isEstablished(claim: Claim, drawn: readonly Drawn[], clustered: boolean): boolean {
  const test = new ClaimTest(claim);
  for (const { gain, cluster } of drawn) {
    test.add(gain, clustered ? cluster : {});
    if (test.decided !== null) break;
  }
  return test.decided?.verdict === "established";
}

function compare(drawn: readonly Drawn[], clustered: boolean) {
  const description = { metric: "sourcesCorrect", label: "", kind: "rate", better: "higher" } as const;
  return comparePairs(
    description,
    drawn.map(({ gain, cluster }) => ({
      before: gain < 0 ? 1 : 0,
      after: gain > 0 ? 1 : 0,
      ...(clustered ? { cluster } : {}),
    })),
  );
}

/** Fractions of runs with the verdict: with clusters, and as if the questions were independent. */
function verdicts(world: World, has: (drawn: readonly Drawn[], clustered: boolean) => boolean) {
  const counts = { clustered: 0, independent: 0 };
  for (let run = 0; run < RUNS; run++) {
    const drawn = draw(world);
    if (has(drawn, true)) counts.clustered++;
    if (has(drawn, false)) counts.independent++;
  }
  return { clustered: counts.clustered / RUNS, independent: counts.independent / RUNS };
}

const BETTER: Claim = { relation: "better", by: 0, notBy: 0 };
const NO_WORSE: Claim = { relation: "no_worse", by: 0.05 };
const excludesLoss = (drawn: readonly Drawn[], clustered: boolean) =>
  (compare(drawn, clustered).difference.low ?? -1) > -0.05;

/** Mailboxes, and threads with a few questions about the same emails. */
const WORLDS = [
  { clusters: 10, questions: 20, correlation: 0.2 },
  { clusters: 10, questions: 50, correlation: 0.3 },
  { clusters: 20, questions: 50, correlation: 0.2 },
  { clusters: 20, questions: 50, correlation: 0.5 },
  { clusters: 40, questions: 5, correlation: 0.5 },
  { clusters: 100, questions: 3, correlation: 0.9 },
];

const FEW = WORLDS.filter(({ clusters, questions }) => clusters * questions < 500);
const MANY = WORLDS.filter((world) => !FEW.includes(world));

const NAME = "$clusters clusters of $questions questions, correlation $correlation";

describe("verdicts over dependent questions", () => {
  const isRarelyTrue = (world: World, what: string, has: Parameters<typeof verdicts>[1]) => {
    const { clustered, independent } = verdicts(world, has);
    expectBetween(0, MOST, `${what} ${JSON.stringify(world)}, independent ${independent}`, clustered);
  };

  const ofEqualRuns = (world: (typeof WORLDS)[number]) => {
    const equal = { ...world, wins: 0.1, losses: 0.1 };
    isRarelyTrue(equal, "until better", (drawn, clustered) => isEstablished(BETTER, drawn, clustered));
    isRarelyTrue(equal, "compare", (drawn, clustered) => compare(drawn, clustered).verdict === "better");
  };
  const ARE_FALSE = `are false in at most 5 of 100 equal runs: ${NAME}`;
  it.each(FEW)(ARE_FALSE, { timeout: LONG }, ofEqualRuns);
  it.each(MANY)(ARE_FALSE, { timeout: LONG, ...slow() }, ofEqualRuns);

  const ofWorseRuns = (world: (typeof WORLDS)[number]) => {
    const worse = { ...world, wins: 0.02, losses: 0.07 };
    isRarelyTrue(worse, "no worse", (drawn, clustered) => isEstablished(NO_WORSE, drawn, clustered));
    isRarelyTrue(worse, "gate", excludesLoss);
  };
  const PASS = `pass at most 5 of 100 runs that are worse by the margin: ${NAME}`;
  it.each(FEW)(PASS, { timeout: LONG }, ofWorseRuns);
  it.each(MANY)(PASS, { timeout: LONG, ...slow() }, ofWorseRuns);

  it(
    "report a difference in more than 10% of equal runs if the questions counted as independent",
    () => {
      const equal = { clusters: 20, questions: 50, correlation: 0.5, wins: 0.1, losses: 0.1 };
      const reported = Array.from({ length: RUNS }, () => isEstablished(BETTER, draw(equal), false));
      expectBetween(0.1, 0.3, "independent", reported.filter(Boolean).length / RUNS);
    },
    LONG,
  );

  it.each([
    { clusters: 20, questions: 50, correlation: 0.05, least: 0.95 },
    { clusters: 20, questions: 10, correlation: 0.05, least: 0.55 },
    { clusters: 100, questions: 3, correlation: 0.2, least: 0.8 },
    { clusters: 300, questions: 1, correlation: 0, least: 0.9 },
  ])(
    `establish a gain of 0.1 (${NAME})`,
    ({ least, ...world }) => {
      const better = { ...world, wins: 0.15, losses: 0.05 };
      const established = Array.from({ length: RUNS }, () => isEstablished(BETTER, draw(better), true));
      expectBetween(least, 1, `power ${JSON.stringify(world)}`, established.filter(Boolean).length / RUNS);
    },
    LONG,
  );
});

describe("DesignEffect", () => {
  const values = (perCluster: readonly (readonly number[])[]) => {
    const all = perCluster.flatMap((cluster, i) => cluster.map((value) => [value, i] as const));
    return DesignEffect.of(
      all.map(([value]) => value),
      all.map(([, i]) => i),
    );
  };
  const clustersOf = (n: number, cluster: (i: number) => number[]) => Array.from({ length: n }, (_, i) => cluster(i));

  it("equals 1 if every value has its own cluster", () => {
    expect(values(clustersOf(9, (i) => [i % 2]))).toBe(1);
    expect(DesignEffect.of([1, 0, 1], null)).toBe(1);
  });

  it("equals about the cluster size if the values of a cluster are equal, and about 1 if they are unrelated", () => {
    expect(values(clustersOf(200, (i) => Array(4).fill(i % 2)))).toBeCloseTo(4, 0);
    expect(values(clustersOf(200, (i) => [1, -1, i % 2, 0]))).toBeLessThan(1.1);
  });

  // NumPy, from the sums over clusters and over values.
  it.each([
    [[[1, 0.5, 0], [1], [-1, 0], [0, 0, 0.5, 1]], 3.33965472476],
    [
      [
        [1, 1, 1],
        [0, 0],
        [1, 1],
        [-1, -1, -0.5],
      ],
      6.82572213773,
    ],
    // 28.5, but at most the number of values.
    [
      [
        [1, -1],
        [0, 1, -1],
      ],
      5,
    ],
  ])("averages the observed effect with the assumed one for %j", (clusters, effect) => {
    expect(values(clusters)).toBeCloseTo(effect, 9);
  });

  it("assumes a correlation of 0.1 if the values do not vary", () => {
    expect(values(clustersOf(20, () => Array(11).fill(0)))).toBeCloseTo(2);
  });

  it("counts a single cluster as one value", () => {
    expect(values([[1, 0, 1, 1, 0]])).toBe(5);
  });
});

describe("paired tests of clusters", () => {
  const groups = (values: readonly number[], size: number) => values.flatMap((value) => Array(size).fill(value));
  const ids = (clusters: number, size: number) => groups([...Array(clusters).keys()], size);
  const sums = [1, -1, 1, 1, 0, 1, 1, -1, 1, 1, 1, 1];

  it("return the same p and bootstrap interval for clusters of equal values as for their means", () => {
    expect(signFlipTest(groups(sums, 5), ids(12, 5))).toBe(signFlipTest(sums));
    const clustered = pairedDifference(groups(sums, 5), undefined, ids(12, 5));
    expect(clustered).toEqual({ ...pairedDifference(sums), n: 60 });
  });

  it("return a wider interval on a scale with two ends", () => {
    const [alone, clustered] = [pairedDifference(groups(sums, 5), 1), pairedDifference(groups(sums, 5), 1, ids(12, 5))];
    expect(clustered.value).toBe(alone.value);
    expect(clustered.low).toBeLessThan((alone.low ?? 0) - 0.1);
  });
});
