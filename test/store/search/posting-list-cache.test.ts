import { expect, it } from "vitest";
import { PostingListCache } from "../../../src/store/search/posting-list-cache.js";

const list = (length: number) => Array.from({ length }, (_, i) => i);

it("drops those that were asked for longest ago once they are too many", () => {
  const kept = new PostingListCache();
  for (const name of ["a", "b", "c", "d"]) kept.add(name, list(120_000));
  expect(kept.get("a")).toHaveLength(120_000);
  kept.add("e", list(120_000));
  expect(["a", "b", "c", "d", "e"].filter((name) => kept.get(name) !== undefined)).toEqual(["a", "c", "d", "e"]);
});

it("counts empty ones too", () => {
  const kept = new PostingListCache();
  for (let i = 0; i < 60_000; i++) kept.add(`${i}`, []);
  expect(kept.get("0")).toBeUndefined();
  expect(kept.get("59999")).toEqual([]);
});

it("does not keep one that is too long", () => {
  const kept = new PostingListCache();
  kept.add("all", list(600_000));
  kept.add("a", [1]);
  expect([kept.get("all"), kept.get("a")]).toEqual([undefined, [1]]);
});
