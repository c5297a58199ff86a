import { describe, expect, it } from "vitest";
import { slow } from "../machine-requirements.js";
import { expectBetween, TIMES } from "../statistics/simulated-runs.js";
import { simulateLabelSets, type World } from "./simulated-label-sets.js";

describe("the test of a judge on enriched labels", () => {
  const sets = 60 * TIMES;
  const JUDGES = [
    { bad: 0.1, truePositive: 0.97, trueNegative: 0.51 },
    { bad: 0.2, truePositive: 0.93, trueNegative: 0.51 },
    { bad: 0.2, truePositive: 0.95, trueNegative: 0.85 },
  ];
  const DRAWS = [
    { labels: 200, doubt: 5, signal: 0 },
    { labels: 200, doubt: 17, signal: 12 },
  ];
  /** Every judge once, and with the other draws in the slow tests. */
  const cells = (first: number) => JUDGES.map((judge, i) => ({ ...judge, ...(DRAWS[(first + i) % 2] as Draw) }));
  type Draw = (typeof DRAWS)[number];

  const separates = (world: World) => {
    const { n, accepted, truePositive, trueNegative } = simulateLabelSets(world, sets);
    const what = JSON.stringify(world);
    expect(n).toBeGreaterThan(sets / 2);
    expectBetween(0.88, 1, `coverage of the true positive rate, ${what}`, truePositive / n);
    expectBetween(0.88, 1, `coverage of the true negative rate, ${what}`, trueNegative / n);
    if (world.trueNegative < 0.7) expectBetween(0, 0.05, `accepted, ${what}`, accepted / n);
  };
  const NAME =
    "has intervals that contain the true rates, and rejects a bad judge: $trueNegative of $bad bad, doubt $doubt";
  it.each(cells(1))(NAME, { timeout: 600_000 }, separates);
  it.each(cells(0))(NAME, { timeout: 600_000, ...slow() }, separates);

  const GOOD_JUDGE = { bad: 0.3, truePositive: 0.96, trueNegative: 0.95, labels: 300, doubt: 5, signal: 0 };

  it("accepts a good judge if there are enough labels", () => {
    const { n, accepted } = simulateLabelSets(GOOD_JUDGE, sets);
    expectBetween(0.8, 1, "accepted good judge", accepted / n);
  }, 600_000);

  it("accepts a good judge if questions are repeated, but its results for them are independent", () => {
    const { n, accepted } = simulateLabelSets({ ...GOOD_JUDGE, repeats: { n: 40, alike: false } }, sets);
    expectBetween(0.8, 1, "accepted good judge", accepted / n);
  }, 600_000);

  it("rejects a bad judge that is right or wrong about all repetitions of a question", () => {
    const judge = { bad: 0.2, truePositive: 0.95, trueNegative: 0.51, labels: 300, doubt: 5, signal: 0 };
    const { n, accepted } = simulateLabelSets({ ...judge, repeats: { n: 5, alike: true } }, sets);
    expectBetween(0, 0.05, "accepted bad judge", accepted / n);
  }, 600_000);
});
