import { describe, expect, it } from "vitest";
import { questionStatistics } from "../../src/questions/dataset.js";
import { corpusSummary, datasetSummary } from "../../src/reports/run-text.js";

describe("without anything to count", () => {
  it("the dataset's figures are dashes", () => {
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

  it("the mail's figures are dashes", () => {
    const none = { messages: 0, distinct: 0, inboxes: 0, unresolvedOwners: 0, addresses: 0 };
    const summary = corpusSummary({ ...none, firstDate: null, lastDate: null, fingerprint: null }, "mail.db");
    expect(summary).toMatch(/^ART-E Corpus \(mail\.db\)$/m);
    expect(summary).toMatch(/^Dates: +- to -\nFingerprint: +-$/m);
  });
});

it("a dataset as large as the published one has its thousands told apart", () => {
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
