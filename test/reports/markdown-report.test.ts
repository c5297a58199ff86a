import { describe, expect, it } from "vitest";
import { markdownReport } from "../../src/reports/markdown-report.js";
import type { ReportHead } from "../../src/reports/report-data.js";
import { RunTally } from "../../src/reports/report-figures.js";
import { FAILED } from "../trace-formats/traces.js";
import { finished } from "../traces/saved-runs.js";

const HOSTILE = "a|b\n<img src=x> [x](https://evil.example) @everyone **bold** `code` #1 \u202e";

function head(label: string): ReportHead {
  const scores = [
    { name: "semanticScore", label: "Semantic score", kind: "mean", better: "higher", meaning: "" },
  ] as const;
  const tally = new RunTally(scores, "semanticScore");
  const { result } = finished("run_1", 1, null);
  tally.add({ ...result, error: HOSTILE }, FAILED);
  const run = {
    ...tally.figures(),
    ...{ runId: "run_1", label, agentId: "a", model: "m", answeredBy: [], split: "test", status: "completed" },
    hasConversations: true,
    ...{
      startedAt: "2026-01-01T00:00:00Z",
      dataset: "q",
      corpusFingerprint: "f",
      plannedTasks: 1,
      costUsd: null,
      retries: 0,
    },
    tokens: { input: 0, cached: 0, output: 0 },
    name: null,
    scores: { semanticScore: { value: null, n: 0, low: null, high: null } },
    slices: {},
    suite: null,
  };
  return {
    version: "1",
    createdAt: "",
    scores,
    leading: "semanticScore",
    runs: [run],
    evals: [],
    comparisons: [],
    traces: { kind: "none" },
  };
}

describe("a report as Markdown", () => {
  it("shows the words of others as words: no markup, no links, nobody mentioned, one line a cell", () => {
    const text = markdownReport(head(HOSTILE));
    expect(text).not.toMatch(/<img|\]\(|@everyone|\*\*|https:\/\/|\u202e|`code`/);
    for (const line of text.split("\n").filter((each) => each.startsWith("| 1 |")))
      expect(line.split("|")).toHaveLength(4);
    expect(text).toContain("| 1 | a&#124;b &#60;img src=x&#62; &#91;x&#93;(https&#58;//evil.example) &#64;everyone ");
  });

  it("has dashes for what there is none of", () => {
    const text = markdownReport(head("plain_name"));
    expect(text).toContain("## ART-E: plain_name\n");
    expect(text).toContain("| Semantic score | - |");
    expect(text).toContain("| Tasks | 1, 1 failed |");
    expect(text).not.toContain("NaN");
  });
});
