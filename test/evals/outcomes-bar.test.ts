import { expect, it } from "vitest";
import { outcomesBar } from "../../src/evals/run-evals.js";

it("outcomesBar counts outcomes, and computes the total only once, at the first outcome", () => {
  const updates: unknown[] = [];
  const bar = outcomesBar({ update: (...update) => updates.push(update), stop: () => updates.push("stop") }, () => {
    updates.push("total");
    return 3;
  });
  bar.onOutcome();
  bar.onOutcome();
  bar.stop();
  expect(updates).toEqual(["total", [1, 3, "1 result"], [2, 3, "2 results"], "stop"]);
});
