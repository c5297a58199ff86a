import { describe, expect, it } from "vitest";
import { questionStatistics } from "../../src/questions/dataset.js";
import { runCostText, runLabels, runNameOrId, runTitle } from "../../src/reports/figure-text.js";
import { corpusSummary, datasetSummary, runSummary } from "../../src/reports/run-text.js";
import type { RunTotals, ScoreFigures } from "../../src/traces/run-totals.js";

const AVERAGES = {
  exactMatchAccuracy: 0.25,
  avgSemanticScore: 0.5,
  sourcesCorrect: 0.75,
  foundGold: 1,
  readGold: null,
};

const score = (label: string, value: number | null, low: number | null, high: number | null): ScoreFigures => ({
  label,
  kind: "rate",
  better: "higher",
  meaning: "",
  value,
  low,
  high,
  n: value === null ? 0 : 1_234,
  overAll: { value: 0.2, n: 1_240, low: 0.1, high: 0.3 },
  byInbox: { low: null, high: null, inboxes: 1 },
});

const TOTALS: RunTotals = {
  runId: "run_1",
  agentId: "email-search",
  model: "acme/best",
  split: "test",
  status: "completed",
  plannedTasks: 1_234,
  totalTasks: 1_234,
  completedTasks: 1_234,
  failedTasks: 0,
  ...AVERAGES,
  avgExecutionTimeMs: 2_500,
  avgModelTimeMs: 1_100,
  avgToolTimeMs: 86,
  avgWaitingTimeMs: 1_300,
  totalTimeMs: 3_725_000,
  startedAt: "2026-01-02T03:04:05.000Z",
  completedAt: "2026-01-02T04:06:10.000Z",
  overAllTasks: { tasks: 1_234, ...AVERAGES },
  endings: { dont_know: 34, answered: 1_200 },
  turns: 3_702,
  usage: { inputTokens: 1_000_000, outputTokens: 20_000, cachedInputTokens: 5_000 },
  costUsd: 12.345,
  judgeCostUsd: 0,
  totalCostUsd: 12.345,
  retries: 3,
  cachedReplies: 0,
  spent: { usage: { inputTokens: 1_000_000, outputTokens: 20_000, cachedInputTokens: 5_000 }, costUsd: 12.345 },
  scores: {
    exactMatch: score("Exact match", 0.25, 0.226, 0.275),
    tokenF1: score("Token F1", 0.5, null, null),
    readGold: score("Gold mail read", null, null, null),
  },
  slices: { inbox: [], realism: [], sources: [], year: [] },
};

describe("runSummary", () => {
  it("shows the new cost if replies came from the cache", () => {
    const line = (costUsd: number | null) =>
      runSummary({ ...TOTALS, cachedReplies: 3_700, spent: { ...TOTALS.spent, costUsd } });
    expect(line(0.25)).toContain("3,700 of 3,702 replies; $0.250 of the cost was spent now");
    expect(line(null)).toContain("3,700 of 3,702 replies; an unknown amount of the cost was spent now");
    expect(runSummary(TOTALS)).not.toContain("cache:");
  });

  it("shows the settings, results, durations and cost of a run", () => {
    expect(runSummary(TOTALS).split("\n").slice(1, -1)).toEqual([
      "ART-E Benchmark Results: email-search (acme/best)",
      "═".repeat(60),
      "Run:            run_1",
      "Tasks:          1,234 of the test split: 1,234 completed, 0 failed",
      "Exact match:    0.250 [0.226, 0.275] n=1,234",
      "Token F1:       0.500 n=1,234",
      "Gold mail read: -",
      "Endings:        answered 1,200, dont_know 34",
      "Turns per task: 3.0",
      "Time per task:  1.2 s (model 1.1 s, tools 86 ms); waiting 1.3 s",
      "Total time:     1:02:05 h",
      "Tokens:         1,000,000 in (5,000 cached), 20,000 out",
      "Cost:           $12.35",
      "Retries:        3",
    ]);
  });

  it("shows averages twice if tasks failed, and counts failed tasks as wrong the second time", () => {
    const summary = runSummary({ ...TOTALS, failedTasks: 1 });
    expect(summary).toContain("1,234 completed, 1 failed");
    expect(summary).toContain("Exact match:    0.250 [0.226, 0.275] n=1,234; 0.200 with failed tasks as wrong\n");
  });

  it("shows pass@k and pass^k if the questions have several epochs", () => {
    const rate = (value: number) => ({ value, n: 400, low: null, high: null });
    const repeats = [1, 2, 3].map((k) => ({ k, passAtK: rate(0.2 * k), passHatK: rate(0.2 / k) }));
    const scores = { exactMatch: { ...score("Exact match", 0.2, 0.1, 0.3), repeats } };
    const summary = runSummary({ ...TOTALS, scores });
    expect(summary).toMatch(/Exact match: .+\n {2}pass@3, pass\^3: +0\.600, 0\.067 over 400 questions\n/);
  });

  it("shows dashes, never NaN, if no task is finished", () => {
    const summary = runSummary({
      ...TOTALS,
      scores: {},
      totalTasks: 0,
      completedTasks: 0,
      avgExecutionTimeMs: null,
      avgModelTimeMs: null,
      avgToolTimeMs: null,
      avgWaitingTimeMs: null,
      endings: {},
      turns: 0,
    });
    expect(summary).toMatch(
      /Scores: +- \(no task was completed\)\nEndings: +-\nTurns per task: +-\nTime per task: +-\n/,
    );
    expect(summary).not.toMatch(/NaN|null|undefined|Infinity/);
  });

  it("shows the cost as unknown if there is no price", () => {
    const priceless = "unknown (no price known for this model, or replies without their usage)";
    expect(runSummary({ ...TOTALS, costUsd: null })).toContain(priceless);
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    expect(runSummary({ ...TOTALS, costUsd: null, usage })).toContain("unknown (replies without their usage)");
  });
});

describe("a summary without data", () => {
  it("shows dashes in datasetSummary", () => {
    const lines = datasetSummary(questionStatistics({ split: "train", questions: [] })).split("\n");
    expect(lines.slice(1, -1)).toEqual([
      "ART-E Dataset Statistics (train split)",
      "═".repeat(60),
      "Total tasks:              0",
      "Unique inboxes:           0",
      "Avg realistic score:      -",
      "Avg message IDs per task: -",
      "Dates of the questions:   -",
      "Realistic score:          -",
    ]);
  });

  it("shows dashes in corpusSummary", () => {
    const none = { messages: 0, distinct: 0, inboxes: 0, unresolvedOwners: 0, addresses: 0 };
    const summary = corpusSummary({ ...none, firstDate: null, lastDate: null, fingerprint: null }, "mail.db");
    expect(summary).toMatch(/^ART-E Corpus \(mail\.db\)$/m);
    expect(summary).toMatch(/^Dates: +- to -\nFingerprint: +-$/m);
  });
});

it("datasetSummary prints the size of a large dataset with thousands separators", () => {
  const summary = datasetSummary({
    split: "test",
    totalTasks: 27_500,
    uniqueInboxes: 150,
    averageRealism: 0.782,
    averageMessageIds: 2.4,
    firstDate: "1999-01-01",
    lastDate: "2002-06-30",
    realismHistogram: [{ from: 0.9, to: 1, count: 27_500 }],
  });
  expect(summary).toContain(
    [
      "ART-E Dataset Statistics (test split)",
      "═".repeat(60),
      "Total tasks:              27,500",
      "Unique inboxes:           150",
      "Avg realistic score:      0.782",
      "Avg message IDs per task: 2.4",
    ].join("\n"),
  );
  expect(summary).toContain("Realistic score:          0.9-1: 27,500");
});

const run = (runId: string, more: { name?: string; agentId?: string } = {}) => ({
  runId,
  agentId: "baseline",
  model: "offline/baseline",
  ...more,
});

it("runLabels uses the name, otherwise agent and model, and adds the end of the id if labels are equal", () => {
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
  // Results files from two databases.
  const [first, second] = runLabels([run("run_1_aaaaaa", { name: "x" }), run("run_1_bbbbbb", { name: "x" })]);
  expect(first).not.toBe(second);
});

it("runLabels labels a single run", () => {
  expect([runNameOrId(run("run_1")), runNameOrId(run("run_1", { name: "x" }))]).toEqual(["run_1", "x"]);
  expect(runTitle(run("run_1"))).toBe("baseline (offline/baseline)");
  expect(runTitle(run("run_1", { name: "x" }))).toBe("x: baseline (offline/baseline)");
});

describe("runCostText", () => {
  it.each([
    ["both costs with their sum", 1, 0.5, "$1.00 agent + $0.500 judge = $1.50"],
    ["a run without a judge", 1, 0, "$1.00"],
    ["an unknown judge price", 1, null, "$1.00 agent, judge unknown"],
    ["an unknown agent price", null, 0.5, "$0.500 judge, agent unknown"],
    ["two unknown prices", null, null, "unknown"],
  ])("states what is known for %s", (_, costUsd, judgeCostUsd, text) => {
    expect(runCostText({ costUsd, judgeCostUsd })).toBe(text);
  });
});
