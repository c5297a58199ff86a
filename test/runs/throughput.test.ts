import { expect, it } from "vitest";
import { estimatePace } from "../../src/runs/follow.js";

const NOW = 10_000_000;
const ago = (...seconds: number[]) => seconds.map((second) => NOW - 1_000 * second);

it("estimates from the tasks that finished lately, and from none that finished long ago", () => {
  // Three tasks a minute: after the first, three in sixty seconds.
  expect(estimatePace(ago(0, 20, 40, 60), 30, NOW)).toEqual({ tasksPerMinute: 3, msLeft: 600_000 });
  expect(estimatePace(ago(0, 20, 40, 60, 3_600, 7_200), 30, NOW)).toEqual({ tasksPerMinute: 3, msLeft: 600_000 });
  // Nothing has finished for as long again: it takes twice as long.
  expect(estimatePace(ago(60, 80, 100, 120), 30, NOW)).toEqual({ tasksPerMinute: 1.5, msLeft: 1_200_000 });
});

it("does not guess from too few tasks", () => {
  const unknown = { tasksPerMinute: null, msLeft: null };
  expect(estimatePace([], 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(10, 20), 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(10, 2_000, 3_000, 4_000), 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(0, 0, 0), 3, NOW)).toEqual(unknown);
});
