import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RunJournal, sendersOf } from "../../src/runs/run-journal.js";
import type { Question, QuestionSet } from "../../src/tasks/question.js";
import type { Tool } from "../../src/tools/tool.js";
import { unfinishedTasks } from "../../src/traces/journal-store.js";
import { attemptPages } from "../../src/traces/results-store.js";
import { costOfRun } from "../../src/traces/run-figures.js";
import type { OwnRunSettings } from "../../src/traces/run-settings.js";
import { getRun } from "../../src/traces/runs-store.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import type { ParsedRequest } from "../providers/wire-request.js";
import { demoSet, never, openDemo, type TestDb } from "./demo-setup.js";
import { benchmark, remote, resumed, type Wanted } from "./run-setup.js";

/** Runs that stop while a task is in its third call, and are resumed. */

const FINAL = { name: "return_final_answer", arguments: { answer: "x", sources: [] } };
const CALLS = 4;

let demo: TestDb;
let set: QuestionSet;
let questions: readonly Question[];
let provider: FakeProvider;
/** Replies to this call of a task never arrive. */
let hangsAt: number | null;

beforeEach(async () => {
  demo = await openDemo();
  set = await demoSet();
  questions = set.questions.slice(0, 3);
  hangsAt = 2;
  provider = await startFakeProvider(answer);
});

afterEach(async () => {
  await provider.close();
  demo.close();
});

function answer({ turn }: ParsedRequest) {
  if (turn === hangsAt) return { fail: "silence" as const };
  const call = turn < CALLS - 1 ? { name: "lookup", arguments: { n: turn } } : FINAL;
  return { toolCalls: [call], usage: { inputTokens: 1_000, outputTokens: 10, cachedInputTokens: 0 } };
}

const lookup = (result: () => string): Tool => ({
  id: "lookup",
  description: "Looks something up.",
  parameters: { type: "object" },
  call: async () => ({ ok: true, value: result() }),
});

const finalAnswer: Tool = {
  id: "return_final_answer",
  description: "Answers.",
  parameters: { type: "object" },
  call: async () => ({ ok: true, value: "", final: { answer: "x", sources: [] } }),
};

async function wanted(result: () => string, more: Partial<Wanted> = {}): Promise<Wanted> {
  const model = await remote("anthropic", provider.baseUrl("anthropic"));
  return { model, set, questions, tools: [lookup(result), finalAnswer], ...more };
}

/** Stops the run while all tasks wait for their third reply. */
async function stoppedRun(result: () => string): Promise<string> {
  const controller = new AbortController();
  const running = benchmark(demo.db, await wanted(result, { signal: controller.signal }));
  await provider.received(questions.length * 3);
  controller.abort(new Error("Ctrl-C"));
  const { run } = await running;
  hangsAt = null;
  return run.id;
}

const attempts = (runId: string) => [...attemptPages(demo.db, runId)].flat();

describe("a resumed run", () => {
  it("buys only the missing replies, and keeps the stored ones with their cost", async () => {
    const runId = await stoppedRun(() => "the same");
    const before = provider.requests.length;
    const { totals, traces } = await resumed(demo.db, await wanted(() => "the same"), runId);
    expect(provider.requests.length - before).toBe(questions.length * 2);
    expect(totals).toMatchObject({ completedTasks: 3, turns: 3 * CALLS, usage: { inputTokens: 3 * CALLS * 1_000 } });
    for (const { turns, toolCalls } of traces) {
      expect(turns.map(({ resumed }) => resumed)).toEqual([true, true, undefined, undefined]);
      expect(toolCalls).toHaveLength(CALLS);
    }
    expect(attempts(runId).map(({ isSuperseded }) => isSuperseded)).toEqual([false, false, false]);
    expect([...unfinishedTasks(demo.db, runId)]).toEqual([]);
  });

  it("saves unused replies as an abandoned attempt if a tool returns another result", async () => {
    const runId = await stoppedRun(() => "before");
    const before = provider.requests.length;
    const { totals, traces } = await resumed(demo.db, await wanted(() => "after"), runId);
    // The first request of a task does not depend on its tools.
    expect(provider.requests.length - before).toBe(questions.length * 3);
    expect(traces.map(({ turns }) => turns.map(({ resumed }) => resumed))).toEqual(
      questions.map(() => [true, undefined, undefined, undefined]),
    );
    expect(attempts(runId).map(({ result, isSuperseded }) => [result.turns, isSuperseded])).toEqual(
      questions.flatMap(() => [
        [1, true],
        [CALLS, false],
      ]),
    );
    expect(totals.usage.inputTokens).toBe(questions.length * (CALLS + 1) * 1_000);
    expect([...unfinishedTasks(demo.db, runId)]).toEqual([]);
  });

  it("counts the stored replies toward --max-cost", async () => {
    const runId = await stoppedRun(() => "the same");
    // Two calls of 1,000 + 10 tokens per task, at 3 and 15 dollars per million.
    const spent = questions.length * 2 * (0.003 + 0.00015);
    const before = provider.requests.length;
    const again = await resumed(demo.db, await wanted(() => "the same", { limits: { maxCostUsd: spent } }), runId);
    expect(again.stopped).toMatchObject({ by: "limit", flag: "--max-cost" });
    expect(provider.requests.length).toBe(before);
  });
});

describe("an unfinished task", () => {
  it("counts in the cost of its run, before and after the resume", async () => {
    const runId = await stoppedRun(() => "the same");
    const spent = questions.length * 2 * (0.003 + 0.00015);
    expect(costOfRun(demo.db, runId).costUsd).toBeCloseTo(spent, 9);
    const { totals } = await resumed(demo.db, await wanted(() => "the same", { signal: AbortSignal.abort() }), runId);
    expect(totals).toMatchObject({ totalTasks: 0, turns: 6, costUsd: expect.closeTo(spent, 9) });
    await resumed(demo.db, await wanted(() => "the same"), runId);
    expect(costOfRun(demo.db, runId).costUsd).toBeCloseTo(spent * 2, 9);
  });

  it("appears with its stored replies when the run is resumed", async () => {
    const notesOf = (runId: string, changes: Partial<OwnRunSettings> = {}) => {
      const settings = { ...(getRun(demo.db, runId).settings as OwnRunSettings), ...changes };
      return new RunJournal(demo.db, runId, { addReply: async () => {} }, sendersOf(settings)).notes;
    };
    const runId = await stoppedRun(() => "the same");
    const used = "art-e: 3 unfinished tasks will continue with 6 stored replies. Their tool calls are executed again.";
    expect(notesOf(runId)).toEqual([used]);
    expect(notesOf(runId, { concurrency: 1 })).toEqual([used]);
    const changes: Partial<OwnRunSettings>[] = [
      { model: "openai/other" },
      { baseUrl: "http://other.example" },
      { extraBody: { seed: 42 } },
      { extraHeaders: { "openai-project": "other" } },
      { prompt: "Search twice." },
      { toolsDigest: "other" },
      { temperature: 0.7 },
      { maxTokens: 99 },
    ];
    for (const change of changes) {
      expect(notesOf(runId, change)).toEqual([
        expect.stringMatching(/^art-e: 6 stored replies are not used, because /),
      ]);
    }
    await resumed(demo.db, await wanted(() => "the same"), runId);
    expect(notesOf(runId)).toEqual([]);
  });

  it("ignores a damaged entry without losing the others", async () => {
    const runId = await stoppedRun(() => "the same");
    demo.db.prepare("UPDATE reply_journal SET entry = '{' WHERE position = 0").run();
    const before = provider.requests.length;
    const { totals } = await resumed(demo.db, await wanted(() => "the same", { signal: never }), runId);
    // The new first reply has other call ids, so the second reply no longer fits either.
    expect(provider.requests.length - before).toBe(questions.length * CALLS);
    expect(totals).toMatchObject({ completedTasks: 3, turns: questions.length * (CALLS + 1) });
  });
});
