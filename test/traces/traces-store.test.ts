import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import {
  countScores,
  getTrace,
  iterateTraces,
  listTaskIds,
  readTraces,
  selectChatTraceIds,
  selectTraceIds,
  type TraceFilter,
} from "../../src/traces/traces-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun, saveTask } from "./saved-runs.js";

describe("traces", () => {
  /** Scores per task id: every limit of the bands, and two failed tasks. */
  const SCORES = [0, 0.25, 0.4999, 0.5, 0.65, 0.8, 0.8001, 1, null, null];
  let test: TestDb;

  beforeAll(() => {
    test = openEmpty();
    saveRun(test.db, "run_old", "2026-01-01T00:00:00.000Z");
    saveRun(test.db, "run_new", "2026-01-02T00:00:00.000Z");
    SCORES.forEach((score, id) => {
      saveTask(test.db, "run_old", id, score);
    });
    saveTask(test.db, "run_new", 3, 1, "trace_new");
    saveTask(test.db, "run_new", 4, 0, "trace_newer");
  });

  afterAll(() => test.close());

  const tasks = (changes: Partial<TraceFilter>) =>
    [...iterateTraces(test.db, { runId: "run_old", ...changes })].map((trace) => trace.taskId);

  const within = (bounds: { readonly min?: number; readonly max?: number }) => ({
    bounds: [{ scorer: "semanticScore", ...bounds }],
  });

  describe("the traces of a run", () => {
    it("form an empty list if the run is unknown", () => expect(tasks({ runId: "run_other" })).toEqual([]));

    it("come completely, in the order of task ids, and only from that run", () => {
      expect(tasks({})).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const [first] = iterateTraces(test.db, { runId: "run_new" });
      expect(first).toEqual(finished("run_new", 3, 1, "trace_new").trace);
    });

    it.each([
      ["selects high scores above 0.8", { band: "high" }, [6, 7]],
      ["selects medium scores from 0.5 to 0.8, inclusive", { band: "medium" }, [3, 4, 5]],
      ["selects low scores below 0.5", { band: "low" }, [0, 1, 2]],
      ["includes the minimum score", within({ min: 0.8 }), [5, 6, 7]],
      ["includes the maximum score", within({ max: 0.25 }), [0, 1]],
      ["accepts 0 as the maximum score", within({ max: 0 }), [0]],
      ["combines a band and a bound", { band: "medium", ...within({ min: 0.6 }) }, [4, 5]],
      ["selects nothing for contradictory bounds", within({ min: 0.9, max: 0.1 }), []],
      ["selects failed tasks", { failedOnly: true }, [8, 9]],
      ["never selects failed tasks with a band, because they are unscored", { failedOnly: true, band: "low" }, []],
      ["never selects failed tasks with a bound", { failedOnly: true, ...within({ min: 0 }) }, []],
    ] as const)("filters the tasks (%s)", (_what, filter, expected) => {
      expect(tasks(filter)).toEqual(expected);
    });
  });

  describe("one trace", () => {
    it.each([
      ["under its id, even if it is a prefix of another id", "trace_new", 3],
      ["by a prefix of its id", "trace_newe", 4],
      ["under its run and task", "run_old/3", 3],
      ["by a prefix of its run id and its task", "run_o/3", 3],
      ["under its run, task and epoch", "run_old/3/1", 3],
      ["under its task in the latest run", "latest/4", 4],
    ])("can be found %s", (_how, name, task) => {
      expect(getTrace(test.db, name)).toHaveProperty("taskId", task);
    });

    it("belongs to the latest run if that run is requested", () =>
      expect(getTrace(test.db, "latest/3")).toHaveProperty("runId", "run_new"));

    it.each(["trace_other", "run_old/99", "run_old/3/2", "latest/99", "latest/", "latest/x", "trace_%"])(
      "cannot be found by the name %s",
      (name) => {
        expect(() => getTrace(test.db, name)).toThrow(
          expect.objectContaining({
            code: "trace_unknown",
            message: `Unknown trace "${name}" in ${test.db.name}.`,
          }),
        );
      },
    );

    it("cannot be found if the run is unknown", () => {
      expect(() => getTrace(test.db, "run_other/3")).toThrow(
        expect.objectContaining({ code: "run_unknown", message: `Unknown run "run_other" in ${test.db.name}.` }),
      );
    });

    it("stays unknown if a prefix is ambiguous", () => {
      expect(() => getTrace(test.db, "trace_run_old")).toThrow(UserError);
      expect(() => getTrace(test.db, "trace_run_old")).toThrow('More than one trace starts with "trace_run_old".');
    });
  });
});

describe("selecting traces", () => {
  /** Keys are task and epoch. Values are the semantic score, and a score with lower values as better. */
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
      save(toResultRow({ ...trace, epoch }, withScores));
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

  describe("selectTraceIds", () => {
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
      ["nothing by an unknown score", { bounds: [{ scorer: "none", min: 0 }] }, []],
      ["nothing by a score name with special characters", { bounds: [{ scorer: `a"b' OR 1`, min: 0 }] }, []],
      ["by a band of another score", { by: "goldRank", band: "high" }, ["1/1", "1/2", "10/1", "10/2"]],
      ["the best epoch, in a tie the first, and scored before unscored", { bestOfEpochs: "highest" }, best()],
      ["the lowest if lower is better", { by: "goldRank", bestOfEpochs: "lowest", taskIds: [1] }, ["1/1"]],
      ["the best epoch before the band applies", { bestOfEpochs: "highest", band: "low" }, []],
      ["by task ids", { taskIds: [10, 2, 77] }, ["2/1", "2/2", "10/1", "10/2"]],
      ["at most the limit", { limit: 2 }, ["1/1", "1/2"]],
      ["at most the limit of the matching traces", { limit: 1, failedOnly: true }, ["2/1"]],
    ] as const)("selects %s", (_, filter, expected) => {
      expect(select(filter as Partial<TraceFilter>)).toEqual(expected);
    });

    function best() {
      return ["1/2", "2/2", "3/1", "10/1"];
    }
  });

  it("countScores returns the scores with the number of tasks, and listTaskIds returns the task ids", () => {
    expect(countScores(test.db, "run")).toEqual({ semanticScore: { n: 5 }, goldRank: { n: 4 } });
    expect(listTaskIds(test.db, "run")).toEqual([1, 2, 3, 10]);
  });

  it("readTraces can be iterated twice, and skips a deleted trace", () => {
    const traces = readTraces(test.db, ["1/1", "gone", "3/1"]);
    const read = () => [...traces].map(({ taskId }) => taskId);
    expect([read(), read()]).toEqual([
      [1, 3],
      [1, 3],
    ]);
  });

  it("selectChatTraceIds selects by session, ending, id and limit, oldest first", () => {
    const chats = (changes: object) =>
      selectChatTraceIds(test.db, { sessionId: null, endings: null, ids: null, limit: null, ...changes });
    expect(chats({})).toEqual(["c1", "c2", "c3"]);
    expect(chats({ sessionId: "s1" })).toEqual(["c1", "c2"]);
    expect(chats({ endings: ["timeout"] })).toEqual(["c1"]);
    expect(chats({ ids: ["c3", "1/1"] })).toEqual(["c3"]);
    expect(chats({ limit: 1 })).toEqual(["c1"]);
  });
});
