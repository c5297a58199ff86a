import { describe, expect, it } from "vitest";
import type { CellValue, Table, TableSource } from "../../src/trace-formats/table.js";
import { tasksTable, toolCallsTable, turnsTable } from "../../src/trace-formats/tables.js";
import { finished } from "../traces/saved-runs.js";
import { ANSWERED } from "./traces.js";

const result = { ...finished("run_1", 7, 0.5).result, scores: { semanticScore: 0.5 } };

const RUN: TableSource = {
  head: { runId: "run_1", agentId: "email-search", model: "acme/best" },
  results: () => [result],
  traces: () => [ANSWERED],
};

function objects<Row>({ columns, rows }: Table<Row>, run = RUN): Record<string, CellValue>[] {
  return [...rows(run)].map((row) => Object.fromEntries(columns.map(({ name, read }) => [name, read(row)])));
}

describe("the table of tasks", () => {
  it("has the fields of the results file, and a column for each score", () => {
    const [row] = objects(tasksTable(["semanticScore", "eval:cites"]));
    expect(row).toMatchObject({
      runId: "run_1",
      taskId: "7",
      traceId: result.traceId,
      question: result.question,
      failed: false,
      sources: result.sources,
      inputTokens: result.usage.inputTokens,
      suite: null,
      semanticScore: 0.5,
      "eval:cites": null,
    });
  });

  it("keeps apart a score that is named like another column", () => {
    const results = () => [{ ...result, scores: { Turns: 0.25 } }];
    const [row] = objects(tasksTable(["Turns"]), { ...RUN, results });
    expect(row).toMatchObject({ turns: result.turns, "score:Turns": 0.25 });
  });
});

describe("the table of turns", () => {
  it("has a row per model call, with how many tools it called", () => {
    const rows = objects(turnsTable);
    expect(rows.map(({ turn, toolCalls, taskId }) => ({ turn, toolCalls, taskId }))).toEqual(
      ANSWERED.turns.map((_, turn) => ({
        turn,
        toolCalls: ANSWERED.toolCalls.filter((call) => call.turn === turn).length,
        taskId: "7",
      })),
    );
    expect(rows[0]).toMatchObject({ inputTokens: 100, cacheWriteTokens: 0, cached: false, waitedMs: null });
  });

  it("has no tokens where the server counted none", () => {
    const turns = ANSWERED.turns.map((turn) => ({ ...turn, usage: null }));
    const [row] = objects(turnsTable, { ...RUN, traces: () => [{ ...ANSWERED, turns }] });
    expect(row).toMatchObject({ inputTokens: null, cacheWriteTokens: null, outputTokens: null });
  });
});

describe("the table of tool calls", () => {
  it("has arguments and results as JSON, and no result where there was an error", () => {
    const rows = objects(toolCallsTable);
    expect(rows).toHaveLength(ANSWERED.toolCalls.length);
    expect(rows[0]).toMatchObject({
      call: 0,
      tool: "email_search",
      arguments: '{"query":"call"}',
      result: '{"total":1}',
    });
    expect(rows[1]).toMatchObject({ call: 1, result: null, error: ANSWERED.toolCalls[1]?.error });
  });

  it("is empty for a results file", () => {
    expect(objects(toolCallsTable, { ...RUN, traces: null })).toEqual([]);
  });
});
