import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BandArtifacts, makeBandArtifacts } from "../../src/evals/band-artifacts.js";
import type { AppSettings } from "../../src/platform/app-context.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun } from "../traces/saved-runs.js";

/** Word overlap and cited emails of each task. */
const TASKS: readonly (readonly [score: number, sources: readonly string[]])[] = [
  [0.9, ["<a@x>"]],
  [0.85, []],
  [0.6, ["<a@x>"]],
  [0.7, []],
  [0.654321, []],
  [0.1, []],
];

describe("makeBandArtifacts", () => {
  let empty: TestDb;
  let made: BandArtifacts;
  beforeAll(async () => {
    empty = openEmpty();
    saveRun(empty.db, "run_a");
    const write = openRowWriter(empty.db);
    for (const [i, [score, sources]] of TASKS.entries()) {
      const { trace, result } = finished("run_a", i + 1, score);
      const scores = { semanticScore: score };
      write(toResultRow({ ...trace, sources: [...sources] }, { ...result, scores, sources: [...sources] }, "finished"));
    }
    const settings = { db: empty.db.name } as AppSettings;
    made = await makeBandArtifacts({ run: "run_a", by: "semanticScore", criterion: "overall" }, settings);
  });
  afterAll(() => empty.close());

  const rule = (rules: BandArtifacts["high"]["patterns"]) => rules.find(({ name }) => name === "has_source");

  it("sorts traces into bands by the score", () => {
    expect(made.counts).toEqual({ high: 2, medium: 3, low: 1, unscored: 0 });
    expect(made.scorer).toBe("semanticScore");
  });

  it("lists the rules that at least half of a band's traces meet", () => {
    expect(rule(made.high.patterns)).toMatchObject({ traces: 1, applies: 2, examples: ["trace_run_a_1"] });
    expect(rule(made.medium.partialSuccesses)).toBeUndefined();
    expect(rule(made.low.failureModes)).toMatchObject({ traces: 1, applies: 1 });
  });

  it("gives the score with three decimals as the reason for a band", () => {
    expect(made.medium.opportunities.map(({ basis }) => basis)).toEqual([
      "semanticScore 0.6",
      "semanticScore 0.7",
      "semanticScore 0.654",
    ]);
  });
});
