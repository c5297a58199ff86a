import "../../src/library/vitest.js";
import { describe, expect, it } from "vitest";
import type { BenchmarkResult } from "../../src/library/published-types.js";
import { workFolder } from "../cli/art-e.js";

describe("toReach", () => {
  const { readJson } = workFolder({ demo: "answered" });
  const results = (): BenchmarkResult => readJson("results.json");
  const failure = (limits: Readonly<Record<string, number>>, of: unknown = results()) => {
    try {
      expect(of).toReach(limits);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error("it passed");
  };

  it("passes if the lower bound of each interval reaches its limit", () => {
    expect(results().scores.sourcesCorrect).toMatchObject({ value: expect.closeTo(0.822), low: expect.closeTo(0.719) });
    expect(results()).toReach({ sources: 0.71, foundGold: 0.9 });
    expect(results()).not.toReach({ sources: 0.72 });
  });

  it("compares the upper bound if lower is better", () => {
    expect(results()).toReach({ falseAbstention: 0.06 });
    expect(results()).not.toReach({ falseAbstention: 0.04 });
  });

  it("gives one line of reason per score, also for a value above the limit", () => {
    expect(failure({ sources: 0.8 })).toBe("sources has the lower bound 0.719 (0.822, n=73), which does not reach 0.8");
    expect(failure({ sources: 0.8, found: 0.9 }).split("\n")).toEqual([
      expect.stringContaining("does not reach 0.8"),
      "found has the lower bound 0.950 (1.000, n=73), which reaches 0.9",
    ]);
  });

  it("counts failed tasks as wrong", () => {
    const { sourcesCorrect, ...scores } = results().scores;
    if (sourcesCorrect === undefined) throw new Error("no such score");
    const overAll = { ...sourcesCorrect.overAll, low: 0.1 };
    expect({ scores: { ...scores, sourcesCorrect: { ...sourcesCorrect, overAll } } }).not.toReach({ sources: 0.2 });
  });

  it("rejects unknown scores, no limits and other values", () => {
    expect(failure({ accuray: 0.5 })).toContain("toReach: unknown score accuray. Did you mean accuracy? Available: ");
    expect(failure({})).toContain("expected limits");
    expect(failure({ sources: 1 }, [])).toBe("toReach: expected the results of a run");
  });
});
