import { describe, expect, it } from "vitest";
import type { ScoreMeaning } from "../../src/reports/report-data.js";
import { RunTally } from "../../src/reports/report-figures.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { ANSWERED, FAILED } from "../trace-formats/traces.js";
import { finished } from "../traces/saved-runs.js";

const MEANINGS: ScoreMeaning[] = [
  { name: "semanticScore", label: "Semantic score", kind: "mean", better: "higher", meaning: "" },
  { name: "readGold", label: "Gold mail read", kind: "rate", better: "higher", meaning: "" },
];

function task(id: number, score: number, changes: Partial<TaskResult> = {}): TaskResult {
  const scores = { semanticScore: score, readGold: changes.readGold === false ? 0 : 1 };
  return { ...finished("run_1", id, score).result, foundGold: true, readGold: true, scores, ...changes };
}

function tallied() {
  const tally = new RunTally(MEANINGS, "semanticScore");
  tally.add(task(1, 1, { executionTimeMs: 10, inbox: "b@x" }), ANSWERED);
  tally.add(task(2, 0.6, { executionTimeMs: 20, inbox: "a@x", readGold: false, howRealistic: 0.699999988 }), ANSWERED);
  tally.add(task(3, 0.2, { executionTimeMs: 60, inbox: "a@x", foundGold: false, readGold: false, turns: 3 }), ANSWERED);
  const failed = { ending: "model_error", error: "503 no", scores: {} } as const;
  tally.add(task(4, 0, { ...failed, executionTimeMs: 9_000 }), FAILED);
  return tally.figures();
}

describe("the figures of a run", () => {
  it("stand over the completed tasks", () => {
    const { tasks, completed, failed, latency } = tallied();
    expect({ tasks, completed, failed }).toEqual({ tasks: 4, completed: 3, failed: 1 });
    expect(latency).toEqual({ mean: 30, p50: 20, p95: 60, waiting: 0 });
  });

  it("tell how far each task came and what its answer was worth", () => {
    const { profile, endings, errors } = tallied();
    expect(profile).toEqual([
      { stage: "read", outcome: "high", tasks: 1 },
      { stage: "found", outcome: "medium", tasks: 1 },
      { stage: "missed", outcome: "low", tasks: 1 },
      { stage: "failed", outcome: "failed", tasks: 1 },
    ]);
    expect(endings).toEqual({ answered: 3, model_error: 1 });
    expect(errors).toEqual([{ message: "503 no", tasks: 1 }]);
  });

  it("count tasks by twentieths of a score and by turns, and calls by tool", () => {
    const { distribution, turns, tools } = tallied();
    expect(distribution.semanticScore?.map((tasks, bin) => [bin, tasks]).filter(([, tasks]) => tasks)).toEqual([
      [4, 1],
      [12, 1],
      [19, 1],
    ]);
    expect(turns).toEqual([0, 3, 0, 1]);
    expect(tools).toEqual([
      { name: "email_search", calls: 3, errors: 0, tasks: 3, meanMs: 12 },
      { name: "email_get", calls: 3, errors: 3, tasks: 3, meanMs: 1 },
    ]);
  });
});
