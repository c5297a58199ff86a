import { expect, it } from "vitest";
import { bandOf } from "../../src/traces/score.js";

it.each([
  [1, "high"],
  [0.8001, "high"],
  [0.8, "medium"],
  [0.5, "medium"],
  [0.4999, "low"],
  [0, "low"],
  [null, "unscored"],
] as const)("a score of %d is in the band %s", (score, band) => {
  expect(bandOf(score)).toBe(band);
});
