import { describe, expect, it } from "vitest";
import { simulateDrift } from "../../bench/drift.js";
import { type AnchorRound, attributeDrift, fisherExact, type WatchCounts } from "../../src/statistics/drift.js";

const NO_FRESH = { successes: 0, n: 0 };
const REFERENCE = { successes: 180, n: 200 };

const same = (n: number): AnchorRound => Array.from({ length: n }, () => false);
const differing = (n: number): AnchorRound => Array.from({ length: 30 }, (_, i) => i < n);
const watch = (
  anchors: AnchorRound,
  fresh: WatchCounts["fresh"] = NO_FRESH,
  rejudged: WatchCounts["rejudged"] = null,
): WatchCounts => ({ anchors, fresh, rejudged });

describe("fisherExact", () => {
  it("adds up the tables that are at most as likely as the observed one", () => {
    // Fisher's lady tasting tea: 3 of 4 cups right, and the two-sided p-value of R's fisher.test.
    expect(fisherExact({ successes: 3, n: 4 }, { successes: 1, n: 4 })).toBeCloseTo(0.4857, 4);
    expect(fisherExact({ successes: 1, n: 10 }, { successes: 11, n: 14 })).toBeCloseTo(0.002759, 6);
    expect(fisherExact({ successes: 0, n: 0 }, { successes: 3, n: 4 })).toBe(1);
  });
});

describe("the evidence of a changed judge", () => {
  const repeats = Array.from({ length: 4 }, () => same(30));

  it("equals the probability that the newest results are the differing ones, if each order is equally likely", () => {
    const { judge } = attributeDrift({ repeats, reference: REFERENCE }, [watch(differing(3))]);
    expect(judge.evidence?.p).toBeCloseTo((1 / 5) ** 3, 9);
    expect(judge.evidence?.limit).toBeCloseTo(0.01, 9);
  });

  it("counts a noisy anchor by how often it differed before", () => {
    const noisy = repeats.map((round, i) => round.map((_, k) => k === 0 && i < 2));
    const { judge } = attributeDrift({ repeats: noisy, reference: REFERENCE }, [watch(differing(1))]);
    expect(judge.evidence?.p).toBeCloseTo(3 / 5, 9);
  });

  it("counts anchors together that differ in one of the newest watches each", () => {
    const rounds = [0, 1].map((anchor) => watch(same(30).map((_, i) => i === anchor)));
    const { judge } = attributeDrift({ repeats, reference: REFERENCE }, rounds);
    // Each is in the newest 2 of 6 rounds with a probability of 1/3. Of the newest round alone, it is 11/36.
    expect(judge.evidence?.p).toBeCloseTo(1 / 9, 9);
  });

  it("finds three of 30 anchors in the first watch, and spends less of the error in later ones", () => {
    const driftAfter = (...rounds: AnchorRound[]) =>
      attributeDrift(
        { repeats, reference: REFERENCE },
        rounds.map((round) => watch(round)),
      );
    expect(driftAfter(differing(2)).changed).toBe("none");
    expect(driftAfter(differing(3)).changed).toBe("judge");
    expect(driftAfter(same(30), differing(2), differing(2), differing(2)).changed).toBe("none");
    expect(driftAfter(same(30), differing(6)).judge.before).toEqual({ successes: 0, n: 150 });
  });

  it("does not matter for an eval without chance, because one difference shows that it changed", () => {
    const baseline = { repeats: null, reference: REFERENCE };
    expect(attributeDrift(baseline, [watch(same(30))])).toMatchObject({ changed: "none", judge: { evidence: null } });
    expect(attributeDrift(baseline, [watch(same(30)), watch(differing(1))])).toMatchObject({ changed: "judge" });
  });

  it("omits anchors that were not judged", () => {
    const { judge } = attributeDrift({ repeats: repeats.map(() => same(3)), reference: REFERENCE }, [
      watch([true, null, false]),
    ]);
    expect(judge).toMatchObject({ anchors: { successes: 1, n: 2 }, before: { successes: 0, n: 12 } });
  });
});

describe("a moved pass rate", () => {
  const repeats = Array.from({ length: 4 }, () => same(30));
  const driftAfter = (rejudged: WatchCounts["rejudged"], successes = 50, anchors = same(30)) =>
    attributeDrift({ repeats, reference: REFERENCE }, [watch(anchors, { successes, n: 100 }, rejudged)]);

  it("names nobody until the reference is judged again", () => {
    expect(driftAfter(null).changed).toBe("unclear");
    expect(driftAfter(null, 85).changed).toBe("none");
  });

  it("blames the agent if the reference judged again is as before, and the judge if it moved too", () => {
    expect(driftAfter({ successes: 178, n: 200 }).changed).toBe("agent");
    expect(driftAfter({ successes: 100, n: 200 }).changed).toBe("judge");
  });

  it("spends a quarter of a percent of the error on rejudged traces in the first watch, and a third of that in the next", () => {
    const compared = watch(same(30), { successes: 50, n: 100 }, { successes: 178, n: 200 });
    const limitAfter = (...watches: readonly WatchCounts[]) =>
      attributeDrift({ repeats, reference: REFERENCE }, watches).agent?.evidence.limit;
    expect(limitAfter(compared)).toBeCloseTo(0.0025, 12);
    expect(limitAfter(watch(same(30)), compared)).toBeCloseTo(0.0025 / 3, 12);
  });

  it("names both if the anchors differ and fresh traces differ from the reference judged again", () => {
    expect(driftAfter({ successes: 140, n: 200 }, 30, differing(6)).changed).toBe("both");
    expect(driftAfter({ successes: 140, n: 200 }, 70, differing(6)).changed).toBe("judge");
  });

  it("blames the agent if the eval provably did not change", () => {
    const baseline = { repeats: null, reference: { successes: 10, n: 100 } };
    expect(attributeDrift(baseline, [watch(same(30), { successes: 40, n: 60 })]).changed).toBe("agent");
  });

  it("compares the newest 1, 2, 4, 8, 16, 32 or 64 watches with the earlier ones, whichever differ most", () => {
    const newestOf = (failed: number) => {
      const watches = Array.from({ length: 70 }, (_, i) =>
        watch(same(30), { successes: Number(i < 70 - failed), n: 1 }),
      );
      return attributeDrift({ repeats, reference: { successes: 100, n: 100 } }, watches).agent?.fresh;
    };
    for (const length of [1, 2, 4, 8, 16, 32, 64]) expect(newestOf(length)).toEqual({ successes: 0, n: length });
    expect(newestOf(70)).toEqual({ successes: 0, n: 64 });
  });

  it("uses fresh traces as the reference of later ones if the validated agent has no traces", () => {
    const baseline = { repeats: null, reference: NO_FRESH };
    const high = Array.from({ length: 3 }, () => watch(same(30), { successes: 95, n: 100 }));
    expect(attributeDrift(baseline, high).changed).toBe("none");
    expect(attributeDrift(baseline, [...high, watch(same(30), { successes: 40, n: 100 })]).changed).toBe("agent");
  });
});

describe("simulated watches", () => {
  const STREAMS = 40;

  it("find a judge that flips 20% in the first watch", () => {
    const judge = { fails: 0.2, passes: 0.2 };
    const { atOnce } = simulateDrift({ name: "judge", noisy: 0.02, judge }, STREAMS, 1);
    expect(atOnce.judge).toBeGreaterThanOrEqual(0.75);
    expect(atOnce.agent).toBe(0);
  });

  it("blame an agent that falls from 0.8 to 0.5, and not the judge", () => {
    const { atOnce } = simulateDrift({ name: "agent", noisy: 0.02, agent: 0.5 }, STREAMS, 2);
    expect(atOnce.agent).toBeGreaterThanOrEqual(0.8);
    expect(atOnce.judge).toBeLessThanOrEqual(0.05);
  });

  it("name both if both changed", () => {
    const judge = { fails: 0.2, passes: 0 };
    const { ever } = simulateDrift({ name: "both", noisy: 0.02, agent: 0.5, judge }, STREAMS, 3);
    expect(ever.both).toBeGreaterThanOrEqual(0.8);
  });

  it("find nothing if nothing changed, even with a noisy judge", () => {
    expect(simulateDrift({ name: "noise", noisy: 0.15 }, STREAMS, 4).first.none).toBeGreaterThanOrEqual(0.9);
  });
});
