import { expect, it } from "vitest";
import { groupBy } from "../../src/platform/group-by.js";

it("groups items by key, with the groups and their items in the order of occurrence", () => {
  const groups = groupBy(["pear", "fig", "plum", "date"], ({ length }) => length);
  expect([...groups]).toEqual([
    [4, ["pear", "plum", "date"]],
    [3, ["fig"]],
  ]);
});
