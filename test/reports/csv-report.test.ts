import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { csvHead, csvLine } from "../../src/reports/csv-report.js";
import type { ScoreMeaning } from "../../src/reports/report-data.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { finished } from "../traces/saved-runs.js";

const MEANINGS: ScoreMeaning[] = [
  { name: "semanticScore", label: "Semantic score", kind: "mean", better: "higher", meaning: "" },
];
const RUN = { runId: "run_1", agentId: "email-search", model: "acme/best", name: "nightly" };

function rowOf(changes: Partial<TaskResult>): Record<string, string> {
  const { result } = finished("run_1", 1, 0.5);
  const text = csvHead(MEANINGS) + csvLine({ run: RUN, result: { ...result, ...changes } }, MEANINGS);
  const [row] = parse(text, { columns: true, bom: true, record_delimiter: "\r\n" }) as Record<string, string>[];
  if (row === undefined) throw new Error("there is no row");
  return row;
}

describe("a report as CSV", () => {
  it("has no NUL in a cell, at which pandas would cut it", () => {
    expect(rowOf({ agentAnswer: "the\0 rest" })).toMatchObject({ agentAnswer: "the\ufffd rest" });
  });

  it("has a column for each field and score, and empty cells for what there is none of", () => {
    const row = rowOf({ scores: { semanticScore: 0.5 }, costUsd: null });
    expect(row).toMatchObject({
      runId: "run_1",
      model: "acme/best",
      runName: "nightly",
      taskId: "1",
      semanticScore: "0.5",
      costUsd: "",
    });
  });

  it("keeps commas, quotes, line ends and other scripts", () => {
    const agentAnswer = 'He said "no, never",\r\nthen left.\n\tשלום 日本';
    expect(rowOf({ agentAnswer }).agentAnswer).toBe(agentAnswer);
  });

  it.each(["=1+1", "+49 30", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", '  =HYPERLINK("x")', "＝1"])(
    "does not let a spreadsheet compute %j",
    (agentAnswer) => expect(rowOf({ agentAnswer }).agentAnswer).toBe(`'${agentAnswer}`),
  );

  it("leaves numbers numbers, also below nought", () => {
    expect(rowOf({ scores: { semanticScore: -1.8 } }).semanticScore).toBe("-1.8");
  });
});
