import { expect, it } from "vitest";
import { resultsFile } from "../../src/runs/totals.js";
import type { BenchmarkResult } from "../../src/traces/run-totals.js";
import type { TaskResult } from "../../src/traces/task-result.js";

const task = (taskId: number): TaskResult => ({
  taskId,
  epoch: 1,
  inbox: "ann@x.example",
  queryDate: "2001-05-05",
  howRealistic: 0.8,
  goldSources: 1,
  question: 'Who said "yes"?\n',
  groundTruth: "Kim }",
  agentAnswer: "]}\u2028",
  exactMatch: false,
  semanticScore: 0.5,
  executionTimeMs: 12,
  traceId: `trace_${taskId}`,
  ending: "answered",
  turns: 3,
  usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 },
  costUsd: null,
  judgeCostUsd: 0,
  sources: ["<1@x>"],
  sourcesCorrect: true,
  foundGold: true,
  readGold: null,
  retries: 0,
  cachedReplies: 0,
  spent: { usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0 }, costUsd: null },
  scores: {},
});

const { taskResults: _, ...HEAD } = {
  runId: "run_1",
  totalTasks: 2,
  settings: { prompt: "Find {{x}}.\n}" },
  versions: {},
  taskResults: [],
} as unknown as BenchmarkResult;

it.each([0, 1, 3])("the pieces for %d tasks are the JSON of the whole", (tasks) => {
  const taskResults = Array.from({ length: tasks }, (_, i) => task(i + 1));
  const text = [...resultsFile(HEAD, taskResults)].join("");
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ ...HEAD, taskResults })));
  expect(Object.keys(JSON.parse(text)).at(-1)).toBe("taskResults");
  expect(text.endsWith("}\n")).toBe(true);
});

it("a task stands on a line of its own and is asked for only when its turn has come", () => {
  let asked = 0;
  function* tasks() {
    for (const id of [1, 2]) {
      asked++;
      yield task(id);
    }
  }
  const pieces = resultsFile(HEAD, tasks());
  pieces.next();
  expect(asked).toBe(0);
  expect(String(pieces.next().value).trim()).toBe(JSON.stringify(task(1)));
  expect(asked).toBe(1);
});
