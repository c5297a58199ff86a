import fc from "fast-check";
import { expect, it } from "vitest";
import { meanOf, quantile } from "../../src/statistics/intervals.js";

it.each([
  [[30, 10, 20], 0.5, 20],
  [[40, 10, 30, 20], 0.5, 20],
  [[40, 10, 30, 20], 0.51, 30],
  [[40, 10, 30, 20], 0.75, 30],
  [[10, 9, 100], 0.95, 100],
  [[7], 0.01, 7],
  [[3, 1, 2], 0, 1],
  [[3, 1, 2], 1, 3],
])("of %j, the quantile at %d is %d", (values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});

it("is the smallest value that the share of values does not exceed", () => {
  const values = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 100 }), (list, percent) => {
      const isReached = (value: number) => 100 * list.filter((other) => other <= value).length >= percent * list.length;
      expect(quantile(list, percent / 100)).toBe(Math.min(...list.filter(isReached)));
    }),
  );
});

it("leaves the values in their order", () => {
  const values = [3, 1, 2];
  quantile(values, 0.5);
  expect(values).toEqual([3, 1, 2]);
});

it("there is no mean and no quantile of nothing", () => {
  expect(quantile([], 0.5)).toBeNull();
  expect(meanOf([])).toBeNull();
  expect(meanOf([1, 2, 6])).toBe(3);
});
