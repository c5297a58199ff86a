import { expect, it } from "vitest";
import { comparableRun, comparePairs, pairOutcomes, pairsOf } from "../../src/analysis/compare.js";
import { head, task } from "./runs.js";

const runOf = (values: Readonly<Record<number, number | null>>) =>
  comparableRun(
    head(),
    Object.entries(values).map(([id, value]) => task(Number(id), { goldRank: value })),
  );

it("has a letter for each task of the first run in its order, none of them for tasks without a value on both sides", () => {
  const baseline = runOf({ 3: 0.5, 1: 1, 2: 0, 4: null, 6: 1 });
  const candidate = runOf({ 1: 0.5, 2: 0.5, 3: 0.5, 4: 1, 5: 1 });
  const higher = { metric: "goldRank", better: "higher" } as const;
  // Keys that are numbers come in their order: 1, 2, 3, 4, 6.
  expect(pairOutcomes(higher, baseline, candidate)).toBe("lwt--");
  expect(pairOutcomes({ ...higher, better: "lower" }, baseline, candidate)).toBe("wlt--");
});

it("takes what rounding leaves for equal, also beside 0", () => {
  const pairs = pairOutcomes(
    { metric: "goldRank", better: "higher" },
    runOf({ 1: 0, 2: 0.3 }),
    runOf({ 1: 1e-16, 2: 0.1 + 0.2 }),
  );
  expect(pairs).toBe("tt");
});

it("counts as the comparison does", () => {
  const values = (seed: number) =>
    runOf(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [i + 1, ((i * seed) % 7) / 7])));
  const [baseline, candidate] = [values(3), values(5)];
  for (const better of ["higher", "lower"] as const) {
    const described = { metric: "goldRank", label: "", kind: "mean", better } as const;
    const { wins, losses, ties } = comparePairs(described, pairsOf("goldRank", baseline, candidate));
    const letters = pairOutcomes(described, baseline, candidate);
    const count = (letter: string) => letters.split(letter).length - 1;
    expect([count("w"), count("l"), count("t")]).toEqual([wins, losses, ties]);
    expect(Math.min(wins, losses, ties)).toBeGreaterThan(0);
  }
});
