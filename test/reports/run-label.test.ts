import { expect, it } from "vitest";
import { runLabels, runNameOrId, runTitle } from "../../src/reports/text.js";

const run = (runId: string, more: { name?: string; agentId?: string } = {}) => ({
  runId,
  agentId: "baseline",
  model: "offline/baseline",
  ...more,
});

it("labels runs by name, else by agent and model, with the end of the id where two would be alike", () => {
  expect(runLabels([run("run_1_aaaaaa", { name: "nightly" }), run("run_1_bbbbbb")])).toEqual([
    "nightly",
    "baseline · offline/baseline",
  ]);
  const alike = [run("run_1_aaaaaa"), run("run_1_bbbbbb"), run("run_1_cccccc", { agentId: "art-e" })];
  expect(runLabels(alike)).toEqual([
    "baseline · offline/baseline · aaaaaa",
    "baseline · offline/baseline · bbbbbb",
    "art-e · offline/baseline",
  ]);
  // Results files of two databases.
  const [first, second] = runLabels([run("run_1_aaaaaa", { name: "x" }), run("run_1_bbbbbb", { name: "x" })]);
  expect(first).not.toBe(second);
});

it("names one run", () => {
  expect([runNameOrId(run("run_1")), runNameOrId(run("run_1", { name: "x" }))]).toEqual(["run_1", "x"]);
  expect(runTitle(run("run_1"))).toBe("baseline (offline/baseline)");
  expect(runTitle(run("run_1", { name: "x" }))).toBe("x: baseline (offline/baseline)");
});
