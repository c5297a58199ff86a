import { describe, expect, it } from "vitest";
import { samplingWeight } from "../../src/statistics/sampling-weight.js";

describe("samplingWeight", () => {
  it("returns the values computed by hand", () => {
    // The second of 3 draws from 10 items: 1 + (10 - 3) / (10 - 2) (1 / (9 q) - 1).
    expect(samplingWeight({ drawnFrom: 9, probability: 1 / 3 }, 7)).toBeCloseTo(1 + (7 / 8) * (1 / 3 - 1), 12);
    expect(samplingWeight({ drawnFrom: 9, probability: 1 / 9 }, 7)).toBeCloseTo(1, 12);
    // After all items have been drawn, each counts once.
    expect(samplingWeight({ drawnFrom: 9, probability: 1 / 3 }, 0)).toBe(1);
    expect(samplingWeight({ drawnFrom: 1, probability: 1 }, 0)).toBe(1);
  });

  it("stays bounded, so that no item decides a figure alone", () => {
    expect(samplingWeight({ drawnFrom: 9, probability: 5e-324 }, 7)).toBe(1_000);
    expect(samplingWeight({ drawnFrom: 1e9, probability: 1 }, 1e9 - 1)).toBe(1 / 1_000);
  });

  it.each([1, 2, 3, 4])("makes the weighted mean of %d draws from 5 items unbiased", (draws) => {
    const items = [
      { chance: 8, value: 0 },
      { chance: 4, value: 1 },
      { chance: 1, value: 1 },
      { chance: 2, value: 0.3 },
      { chance: 1, value: 7 },
    ];
    /** The mean of the weighted sum over all sequences of draws, by their probability. */
    const expected = (rest: readonly (typeof items)[number][], left: number): number => {
      if (left === 0) return 0;
      const all = rest.reduce((sum, { chance }) => sum + chance, 0);
      return rest.reduce((sum, item) => {
        const probability = item.chance / all;
        const weight = samplingWeight({ drawnFrom: rest.length, probability }, items.length - draws);
        const others = rest.filter((other) => other !== item);
        return sum + probability * (weight * item.value + expected(others, left - 1));
      }, 0);
    };
    expect(expected(items, draws) / draws).toBeCloseTo((0 + 1 + 1 + 0.3 + 7) / 5, 12);
  });
});
