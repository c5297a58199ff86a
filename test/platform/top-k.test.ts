import { describe, expect, it } from "vitest";
import { TopK } from "../../src/platform/top-k.js";
import { seeded } from "../random.js";

describe("the best of a stream", () => {
  it("equals a complete sort, best first, for any number of elements", () => {
    const random = seeded(1);
    for (let draw = 0; draw < 300; draw++) {
      const [most, count] = [Math.floor(random() * 12), Math.floor(random() * 60)];
      const all = Array.from({ length: count }, (_, id) => ({ id, score: Math.floor(random() * 10) }));
      const isBefore = (a: (typeof all)[number], b: (typeof all)[number]) =>
        a.score > b.score || (a.score === b.score && a.id < b.id);
      const best = new TopK(most, isBefore);
      for (const one of all) best.add(one);
      const sorted = [...all].sort((a, b) => (isBefore(a, b) ? -1 : 1));
      expect(best.sorted()).toEqual(sorted.slice(0, most));
      expect(best.worst).toEqual(count < most ? null : (sorted[most - 1] ?? null));
    }
  });
});
