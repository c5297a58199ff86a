import { describe, expect, it } from "vitest";
import {
  type Claim,
  ClaimTest,
  expectedStops,
  pairedGains,
  sequentialFigures,
} from "../../src/analysis/sequential-comparison.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

const singles = (n: number) => Array.from({ length: n }, (_, i) => String(i));
const repeat = (value: number, times: number) => Array.from({ length: times }, () => value);

function decide(claim: Claim, gains: readonly number[]) {
  const test = new ClaimTest(claim);
  for (const gain of gains) test.add(gain);
  return test.decided;
}

const BETTER: Claim = { relation: "better", by: 0, notBy: 0 };

describe("ClaimTest", () => {
  it.each<[string, Claim, readonly number[], string | null]>([
    ["better, after only wins", BETTER, repeat(1, 12), "established"],
    ["better, after only losses", BETTER, repeat(-1, 12), "refuted"],
    ["better, after ties", BETTER, repeat(0, 500), null],
    ["better or not by 0.05, after ties", { ...BETTER, notBy: 0.05 }, repeat(0, 500), "refuted"],
    ["better by 0.5, after gains of 0.25", { relation: "better", by: 0.5, notBy: 0.5 }, repeat(0.25, 200), "refuted"],
    ["no worse by 0.05, after ties", { relation: "no_worse", by: 0.05 }, repeat(0, 500), "established"],
    ["no worse by 0.05, after losses", { relation: "no_worse", by: 0.05 }, repeat(-0.5, 50), "refuted"],
    ["different, after only losses", { relation: "different", notBy: null }, repeat(-1, 12), "established"],
    ["different, after ties", { relation: "different", notBy: null }, repeat(0, 500), null],
    ["different or not by 0.05, after ties", { relation: "different", notBy: 0.05 }, repeat(0, 500), "refuted"],
  ])("decides a claim (%s)", (_, claim, gains, verdict) => {
    expect(decide(claim, gains)?.verdict ?? null).toBe(verdict);
  });

  it("keeps its first verdict and the number of questions that it took", () => {
    const first = decide(BETTER, repeat(1, 12));
    expect(first?.after).toBeLessThan(12);
    expect(decide(BETTER, [...repeat(1, 12), ...repeat(-1, 100)])).toEqual(first);
  });

  it("needs more evidence for a difference in either direction than for one direction", () => {
    const [one, two] = [
      decide(BETTER, repeat(0.5, 99)),
      decide({ relation: "different", notBy: null }, repeat(0.5, 99)),
    ];
    expect(two?.after).toBeGreaterThan(one?.after ?? 99);
  });
});

describe("sequentialFigures", () => {
  const wins = { differences: repeat(1, 20), better: "higher", p: 0.01 } as const;
  const ties = { differences: repeat(0, 20), better: "higher", p: 1 } as const;

  it("returns interval and verdict in the direction of the score, and its unit", () => {
    const [figures] = sequentialFigures([{ ...wins, differences: repeat(2, 20), better: "lower" }], 4);
    expect(figures?.verdict).toBe("worse");
    expect(figures?.difference).toMatchObject({ value: 2, n: 20 });
    expect(figures?.difference.high).toBeGreaterThan(2);
    expect(figures?.difference.high).toBeLessThanOrEqual(4);
  });

  it("corrects verdicts and p values for the number of candidates", () => {
    const eleven = { ...wins, differences: repeat(1, 10) };
    const [alone] = sequentialFigures([eleven], 1);
    expect(alone).toMatchObject({ verdict: "better", correctedVerdict: "better", correctedP: 0.01 });
    const [among, other] = sequentialFigures([eleven, ...repeat(0, 9).map(() => ties)], 1);
    expect(among).toMatchObject({ verdict: "better", correctedVerdict: null, correctedP: 0.1 });
    expect(other).toMatchObject({ verdict: null, correctedVerdict: null, correctedP: 1 });
  });

  it("leaves candidates without a p value out of Holm's correction", () => {
    const figures = sequentialFigures([{ ...ties, differences: [], p: null }, wins], 1);
    expect(figures.map(({ correctedP }) => correctedP)).toEqual([null, 0.01]);
    expect(figures[0]).toMatchObject({ difference: { n: 0, low: null }, eValue: 1, verdict: null });
  });
});

describe("expectedStops", () => {
  const claim: Claim = { relation: "better", by: 0, notBy: 0.1 };

  it("estimates fewer questions for larger gains, and both verdicts", () => {
    const [none, some, large] = expectedStops(claim, { accuracy: 0.6, clusters: singles(800) }, [0, 0.1, 0.3]);
    expect(none?.established).toBeLessThanOrEqual(0.05);
    expect(none?.refuted).toBeGreaterThan(0.5);
    expect(some?.established).toBeGreaterThan(0.9);
    expect(large?.meanQuestions).toBeLessThan((some?.meanQuestions ?? 0) / 2);
  });

  it("omits gains beyond the scale", () => {
    const stops = expectedStops(claim, { accuracy: 0.95, clusters: singles(10) }, [0.02, 0.1]);
    expect(stops.map(({ effect }) => effect)).toEqual([0.02]);
  });
});

describe("pairedGains", () => {
  it("returns differences with the requested mean and variance", () => {
    const draw = pairedGains(0.8, 0.05, 0.5, seededRandom(3));
    const gains = Array.from({ length: 40_000 }, draw);
    const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
    expect(mean).toBeCloseTo(0.05, 2);
    // 0.8 * 0.2 + 0.85 * 0.15 - 2 * 0.5 * sqrt(0.8 * 0.2 * 0.85 * 0.15)
    expect(gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0) / gains.length).toBeCloseTo(0.1447, 2);
  });
});
