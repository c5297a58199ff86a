import { describe, expect, it } from "vitest";
import { type AnchorRound, attributeDrift, upperBound, type WatchCounts } from "../../src/statistics/drift.js";
import { simulateDrift } from "../bench/drift.js";

const NO_FRESH = { successes: 0, n: 0 };
const REFERENCE = { successes: 180, n: 200 };

const same = (n: number): AnchorRound => Array.from({ length: n }, () => false);
const watch = (anchors: AnchorRound, fresh = NO_FRESH): WatchCounts => ({ anchors, fresh });

describe("upperBound", () => {
  it("is the bound of Clopper and Pearson, rounded up", () => {
    // 95% intervals of 0/30, 3/20 and 18/20: two-sided, so each bound has an error of 2.5%.
    const bounds = [upperBound({ successes: 0, n: 30 }, 0.025), upperBound({ successes: 3, n: 20 }, 0.025)];
    expect(bounds[0]).toBeCloseTo(1 - 0.025 ** (1 / 30), 3);
    expect(bounds[1]).toBeCloseTo(0.3789, 3);
    expect(upperBound({ successes: 18, n: 20 }, 0.025)).toBeCloseTo(0.9877, 3);
    expect(upperBound({ successes: 20, n: 20 }, 0.025)).toBe(1);
    expect(bounds[0]).toBeGreaterThan(1 - 0.025 ** (1 / 30));
  });
});

describe("the judge's e-value", () => {
  /** All sequences of `length` results, with their probability. */
  const sequences = (length: number, rate: number): { results: boolean[]; probability: number }[] =>
    length === 0
      ? [{ results: [], probability: 1 }]
      : sequences(length - 1, rate).flatMap(({ results, probability }) => [
          { results: [...results, true], probability: probability * rate },
          { results: [...results, false], probability: probability * (1 - rate) },
        ]);

  it.each([
    [0, 0],
    [0.05, 0.5],
    [0.3, 0.6],
    [1, 0.2],
  ])(
    "has an expectation of at most 1 if two anchors differ with probabilities %d and %d at all times",
    (one, other) => {
      let expected = 0;
      for (const a of sequences(4, one)) {
        for (const b of sequences(4, other)) {
          const rounds = a.results.map((result, i): AnchorRound => [result, b.results[i] ?? null]);
          const drift = attributeDrift(
            { repeats: rounds.slice(0, 2), reference: REFERENCE },
            rounds.slice(2).map((round) => watch(round)),
          );
          expected += a.probability * b.probability * (drift.judge.eValue ?? Number.NaN);
        }
      }
      expect(expected).toBeLessThanOrEqual(1 + 1e-9);
      expect(expected).toBeGreaterThan(0);
    },
  );

  it("divides the likelihood of the results under a mixture of alternatives by their highest likelihood", () => {
    let total = 0;
    for (const { results } of sequences(5, 0.5)) {
      const rounds = results.map((result): AnchorRound => [result]);
      const { judge } = attributeDrift(
        { repeats: rounds.slice(0, 2), reference: REFERENCE },
        rounds.slice(2).map((round) => watch(round)),
      );
      const share = results.filter((differs) => differs).length / results.length;
      const highest = results.reduce((product, differs) => product * (differs ? share : 1 - share), 1);
      total += (judge.eValue ?? Number.NaN) * highest;
    }
    expect(total).toBeCloseTo(1, 9);
  });

  it("grows with each watch in which the same anchors differ, and shows a changed judge", () => {
    const repeats = Array.from({ length: 4 }, () => same(30));
    const other: AnchorRound = Array.from({ length: 30 }, (_, i) => i < 9);
    const driftAfter = (n: number) =>
      attributeDrift({ repeats, reference: REFERENCE }, [
        watch(same(30)),
        ...Array.from({ length: n }, () => watch(other)),
      ]);
    const eValues = [0, 1, 2, 3].map((n) => driftAfter(n).judge.eValue ?? 0);
    expect(eValues).toEqual(eValues.toSorted((a, b) => a - b));
    expect(eValues[0]).toBeLessThan(1);
    expect(driftAfter(0).changed).toBe("none");
    expect(driftAfter(2)).toMatchObject({
      changed: "judge",
      judge: { anchors: { successes: 9, n: 30 }, before: { successes: 9, n: 180 } },
      threshold: 80,
    });
  });

  it("is not needed for an eval that does not depend on chance: one difference shows that it changed", () => {
    const baseline = { repeats: null, reference: REFERENCE };
    expect(attributeDrift(baseline, [watch(same(30))])).toMatchObject({ changed: "none", judge: { eValue: null } });
    const one: AnchorRound = [true, ...same(29)];
    expect(attributeDrift(baseline, [watch(same(30)), watch(one)])).toMatchObject({ changed: "judge" });
  });

  it("leaves out anchors that were not judged", () => {
    const repeats = Array.from({ length: 4 }, () => same(3));
    const { judge } = attributeDrift({ repeats, reference: REFERENCE }, [watch([true, null, false])]);
    expect(judge).toMatchObject({ anchors: { successes: 1, n: 2 }, before: { successes: 0, n: 12 } });
  });
});

describe("the agent's e-value", () => {
  /** With a reference this large, the bounds are close to its rate. */
  const large = { repeats: null, reference: { successes: 900_000, n: 1_000_000 } };

  it.each([0.899, 0.9, 0.901])("has an expectation of at most 1 at the pass rate %d of the reference", (rate) => {
    const n = 12;
    let probability = (1 - rate) ** n;
    let expected = 0;
    for (let k = 0; k <= n; k++) {
      expected += probability * attributeDrift(large, [watch(same(30), { successes: k, n })]).agent.eValue;
      probability *= ((n - k) / (k + 1)) * (rate / (1 - rate));
    }
    expect(expected).toBeLessThan(1.01);
    expect(expected).toBeGreaterThan(0.5);
  });

  it("is 1 and expects any pass rate without a reference", () => {
    const baseline = { repeats: [same(30), same(30)], reference: NO_FRESH };
    const { agent } = attributeDrift(baseline, [watch(same(30), { successes: 5, n: 10 })]);
    expect(agent.eValue).toBeCloseTo(1);
    expect(agent.expected).toEqual({ low: 0, high: 1 });
  });

  it("shows a lower or higher pass rate if the eval provably did not change", () => {
    const baseline = { repeats: null, reference: { successes: 95, n: 100 } };
    const driftAfter = (successes: number) => attributeDrift(baseline, [watch(same(30), { successes, n: 60 })]);
    expect(driftAfter(57).changed).toBe("none");
    expect(driftAfter(20).changed).toBe("agent");
    const low = { repeats: null, reference: { successes: 10, n: 100 } };
    expect(attributeDrift(low, [watch(same(30), { successes: 40, n: 60 })]).changed).toBe("agent");
  });

  it("does not blame the agent for a change that a judge could cause without the anchors showing it", () => {
    const repeats = Array.from({ length: 4 }, () => same(30));
    const driftAfter = (successes: number) =>
      attributeDrift({ repeats, reference: REFERENCE }, [watch(same(30), { successes, n: 200 })]);
    // 30 anchors without a difference do not exclude a judge that judges 13% of all traces differently.
    expect(driftAfter(140).changed).toBe("unclear");
    expect(driftAfter(60).changed).toBe("agent");
    expect(driftAfter(60).agent.expected.low).toBeLessThan(0.9 - (1 - 0.0125 ** (1 / 30)));
  });

  it("uses fresh traces as the reference of later ones if the validated agent has no traces here", () => {
    const baseline = { repeats: null, reference: NO_FRESH };
    const high = Array.from({ length: 3 }, () => watch(same(30), { successes: 95, n: 100 }));
    expect(attributeDrift(baseline, high).changed).toBe("none");
    expect(attributeDrift(baseline, [...high, watch(same(30), { successes: 40, n: 100 })]).changed).toBe("agent");
  });
});

describe("simulated watches", () => {
  const STREAMS = 20;

  it("find a changed judge, and do not blame the agent", () => {
    const judge = { fails: 0.5, passes: 0 };
    const { ever } = simulateDrift({ name: "judge", noisy: 0.02, judge }, STREAMS, 1);
    expect(ever.judge).toBeGreaterThanOrEqual(0.95);
    expect(ever.agent).toBe(0);
  });

  it("find a changed agent, and do not blame the judge", () => {
    const { ever } = simulateDrift({ name: "agent", noisy: 0.02, agent: 0.35 }, STREAMS, 2);
    expect(ever.agent).toBeGreaterThanOrEqual(0.95);
    expect(ever.judge).toBe(0);
  });

  it("find nothing if nothing changed, even with a noisy judge", () => {
    expect(simulateDrift({ name: "noise", noisy: 0.15 }, STREAMS, 3).first.none).toBeGreaterThanOrEqual(0.95);
  });
});
