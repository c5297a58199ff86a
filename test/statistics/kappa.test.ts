import { describe, expect, test } from "vitest";
import { kappa } from "../../src/statistics/agreement.js";

describe("Cohen's kappa", () => {
  // Observed agreement 0.7, expected 0.5: the textbook example of two readers of 50 grant proposals (Cohen's kappa,
  // Wikipedia).
  test("of 20, 5, 10, 15 is 0.4", () => {
    const { value, n } = kappa([
      [20, 5],
      [10, 15],
    ]);
    expect(value).toBeCloseTo(0.4, 12);
    expect(n).toBe(50);
  });

  // Fleiss, Levin, Paik, "Statistical Methods for Rates and Proportions", 3rd ed., table 18.1: kappa 0.676, standard
  // error 0.088.
  test("of the published table of diagnoses has its published interval", () => {
    const { value, low, high } = kappa([
      [75, 1, 4],
      [5, 4, 1],
      [0, 0, 10],
    ]);
    expect(value).toBeCloseTo(0.676, 3);
    expect(((high ?? 0) - (low ?? 0)) / 2 / 1.959964).toBeCloseTo(0.088, 3);
  });

  test.each<[string, number[][], number | null]>([
    [
      "full agreement",
      [
        [10, 0],
        [0, 5],
      ],
      1,
    ],
    [
      "full disagreement of even halves",
      [
        [0, 5],
        [5, 0],
      ],
      -1,
    ],
    [
      "nothing",
      [
        [0, 0],
        [0, 0],
      ],
      null,
    ],
    [
      "one category only",
      [
        [10, 0],
        [0, 0],
      ],
      null,
    ],
  ])("of %s", (_, counts, value) => {
    const estimate = kappa(counts);
    expect(estimate.value).toBe(value);
    expect(estimate.low === null).toBe(value === null);
  });
});
