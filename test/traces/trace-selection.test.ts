import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import {
  countScores,
  listTaskIds,
  readTraces,
  selectChatTraceIds,
  selectTraceIds,
  type TraceFilter,
} from "../../src/traces/traces-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun } from "./saved-runs.js";

/** By task and epoch: the semantic score and one of which lower is better. */
const TRIES = [
  [1, 1, { semanticScore: 0.2, goldRank: 3 }],
  [1, 2, { semanticScore: 0.9, goldRank: 5 }],
  [2, 1, { semanticScore: null, goldRank: null }],
  [2, 2, { semanticScore: 0.6, goldRank: null }],
  [3, 1, { semanticScore: null, goldRank: null }],
  [10, 1, { semanticScore: 0.7, goldRank: 1 }],
  [10, 2, { semanticScore: 0.7, goldRank: 1 }],
] as const;

let test: TestDb;
beforeAll(() => {
  test = openEmpty();
  saveRun(test.db, "run");
  const save = openRowWriter(test.db);
  for (const [taskId, epoch, scores] of TRIES) {
    const { trace, result } = finished("run", taskId, scores.semanticScore, `${taskId}/${epoch}`);
    const withScores = { ...result, epoch, scores } as TaskResult;
    save(toResultRow({ ...trace, epoch }, withScores, scores.semanticScore === null ? "failed" : "finished"));
  }
  const chat = test.db.prepare(
    `INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', ?, ?, ?, '{"traceId":"c"}')`,
  );
  chat.run("c2", "s1", "2026-01-02", "answered");
  chat.run("c1", "s1", "2026-01-01", "timeout");
  chat.run("c3", "s2", "2026-01-03", "answered");
});
afterAll(() => test.close());

const select = (filter: Partial<TraceFilter>) => selectTraceIds(test.db, { runId: "run", ...filter });

describe("traces of a run are selected", () => {
  it.each([
    ["all, by task and epoch", {}, TRIES.map(([task, epoch]) => `${task}/${epoch}`)],
    ["by another score's bounds", { bounds: [{ scorer: "goldRank", min: 2, max: 4 }] }, ["1/1"]],
    [
      "by several scores together",
      {
        bounds: [
          { scorer: "goldRank", max: 5 },
          { scorer: "semanticScore", min: 0.7 },
        ],
      },
      ["1/2", "10/1", "10/2"],
    ],
    ["by a score that nobody has: none", { bounds: [{ scorer: "none", min: 0 }] }, []],
    ["by a score's name that is no plain word: none", { bounds: [{ scorer: `a"b' OR 1`, min: 0 }] }, []],
    ["by a band of another score", { by: "goldRank", band: "high" }, ["1/1", "1/2", "10/1", "10/2"]],
    ["the best repeat, the first of equals, one with a score before one without", { bestOfEpochs: "highest" }, best()],
    ["the best where lower is better", { by: "goldRank", bestOfEpochs: "lowest", taskIds: [1] }, ["1/1"]],
    ["the best repeat before its band", { bestOfEpochs: "highest", band: "low" }, []],
    ["by task ids", { taskIds: [10, 2, 77] }, ["2/1", "2/2", "10/1", "10/2"]],
    ["no more than so many", { limit: 2 }, ["1/1", "1/2"]],
    ["so many of those that pass", { limit: 1, failedOnly: true }, ["2/1"]],
  ] as const)("%s", (_, filter, expected) => {
    expect(select(filter as Partial<TraceFilter>)).toEqual(expected);
  });

  function best() {
    return ["1/2", "2/2", "3/1", "10/1"];
  }
});

it("counts who has which score, and lists the tasks", () => {
  expect(countScores(test.db, "run")).toEqual({ semanticScore: { n: 5 }, goldRank: { n: 4 } });
  expect(listTaskIds(test.db, "run")).toEqual([1, 2, 3, 10]);
});

it("traces may be read twice, and one that was deleted is passed over", () => {
  const traces = readTraces(test.db, ["1/1", "gone", "3/1"]);
  const read = () => [...traces].map(({ taskId }) => taskId);
  expect([read(), read()]).toEqual([
    [1, 3],
    [1, 3],
  ]);
});

it("chats are selected by session, ending, id and number, oldest first", () => {
  const chats = (changes: object) =>
    selectChatTraceIds(test.db, { sessionId: null, endings: null, ids: null, limit: null, ...changes });
  expect(chats({})).toEqual(["c1", "c2", "c3"]);
  expect(chats({ sessionId: "s1" })).toEqual(["c1", "c2"]);
  expect(chats({ endings: ["timeout"] })).toEqual(["c1"]);
  expect(chats({ ids: ["c3", "1/1"] })).toEqual(["c3"]);
  expect(chats({ limit: 1 })).toEqual(["c1"]);
});
