import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { withoutDataMarks } from "../../src/models/tool-results.js";
import type { Question, QuestionSet } from "../../src/tasks/question.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import type { ProviderReply } from "../providers/wire-reply.js";
import { type ParsedRequest, WIRE_FORMATS } from "../providers/wire-request.js";
import { demoSet, openDemo, question, type TestDb } from "./demo-setup.js";
import { benchmark, REMOTE, remote } from "./run-setup.js";
import { expectedBody, HOTEL_ID } from "./wire-bodies.js";

/** Entire runs over every provider's wire format: the requests, and the results from the replies. */

/** Per turn. Sum: 6,000 input tokens, 2,700 of them cached, 120 output tokens. */
const USAGE = [
  { inputTokens: 1000, outputTokens: 50, cachedInputTokens: 0 },
  { inputTokens: 2000, outputTokens: 40, cachedInputTokens: 900 },
  { inputTokens: 3000, outputTokens: 30, cachedInputTokens: 1800 },
] as const;
const SUM = { inputTokens: 6000, outputTokens: 120, cachedInputTokens: 2700 };

/** 3,300 input, 2,700 cached and 120 output tokens, at each model's list price per million. */
const COST = {
  anthropic: (3300 * 3 + 2700 * 0.3 + 120 * 15) / 1e6,
  "openai-chat": (3300 * 2 + 2700 * 0.5 + 120 * 8) / 1e6,
  "openai-responses": (3300 * 2 + 2700 * 0.5 + 120 * 8) / 1e6,
  google: (3300 * 1.25 + 2700 * 0.125 + 120 * 10) / 1e6,
} as const;

let demo: TestDb;
let set: QuestionSet;
beforeAll(async () => {
  demo = await openDemo();
  set = await demoSet();
});
afterAll(() => demo.close());

/** Searches, reads the gold email and gives the gold answer. */
function solve(request: ParsedRequest, limit = 10): ProviderReply {
  const task = set.questions.find((one) => one.question === request.question) as Question;
  const [gold = ""] = task.message_ids;
  const usage = USAGE[request.turn] ?? null;
  const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args as never }], usage });
  if (request.turn === 0) return call("email_search", { query: task.question, inbox_id: task.inbox_address, limit });
  if (request.turn === 1) return call("email_get", { message_id: gold });
  return call("return_final_answer", { answer: task.answer, sources: [gold] });
}

describe.each(WIRE_FORMATS)("a run over %s", (format) => {
  let provider: FakeProvider;
  let limit: number;
  beforeEach(async () => {
    limit = 10;
    provider = await startFakeProvider((request) => solve(request, limit));
  });
  afterEach(() => provider.close());

  const ask = async (ids: readonly number[], concurrency = 4) => {
    const model = await remote(format, provider.baseUrl(format));
    return benchmark(demo.db, { model, set, questions: ids.map((id) => question(set.questions, id)), concurrency });
  };

  test("answers, cites and reads the gold email, and sums tokens and cost", async () => {
    const ids = [2, 15, 16, 21];
    const { results, totals, run } = await ask(ids);
    expect(run.model).toBe(REMOTE[format]);
    expect(results).toHaveLength(4);
    for (const result of results) {
      expect(result).toMatchObject({
        ending: "answered",
        exactMatch: true,
        semanticScore: 1,
        sourcesCorrect: true,
        foundGold: true,
        readGold: true,
        turns: 3,
        usage: SUM,
        retries: 0,
      });
      expect(result.costUsd).toBeCloseTo(COST[format], 10);
    }
    expect(totals).toMatchObject({
      completedTasks: 4,
      failedTasks: 0,
      exactMatchAccuracy: 1,
      sourcesCorrect: 1,
      readGold: 1,
      turns: 12,
      usage: { inputTokens: 24_000, outputTokens: 480, cachedInputTokens: 10_800 },
    });
    expect(totals.costUsd).toBeCloseTo(4 * COST[format], 10);
    expect(provider.requests).toHaveLength(12);
  });

  test("sends exactly these three requests for a task", async () => {
    limit = 1;
    const { traces } = await ask([HOTEL_ID]);
    const results = (traces[0]?.toolCalls ?? []).map(({ result }) => JSON.stringify(result));
    const [found = "", mail = ""] = (traces[0]?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? [message.content] : [],
    );
    // The agent's setting: the model receives results as data, and the record contains them unchanged.
    expect([found, mail].map(withoutDataMarks)).toEqual(results.slice(0, 2));
    expect(found).toMatch(/^<tool_result id="[0-9a-f]{16}">\n\{/);
    expect(JSON.parse(withoutDataMarks(found)).emails).toHaveLength(1);
    expect(JSON.parse(withoutDataMarks(mail))).toMatchObject({
      message_id: expect.any(String),
      body: expect.stringContaining("20714"),
    });
    expect(provider.requests).toHaveLength(3);
    for (const [turn, request] of provider.requests.entries()) {
      expect(request.body).toEqual(expectedBody(format, turn, { found, mail }, demo.db));
    }
  });

  test("counts a reply that contains only reasoning as a turn, and continues", async () => {
    const task = question(set.questions, 1);
    const call = { name: "return_final_answer", arguments: { answer: task.answer, sources: [...task.message_ids] } };
    const thinker = await startFakeProvider([
      { reasoning: "signed-1", finishReason: "length" },
      { reasoning: "signed-2" },
      { reasoning: "signed-3", toolCalls: [call] },
    ]);
    const model = await remote(format, thinker.baseUrl(format));
    const { results } = await benchmark(demo.db, { model, set, questions: [task] });
    await thinker.close();
    expect(results).toMatchObject([{ ending: "answered", exactMatch: true, turns: 3 }]);
  });

  test("gives every task its own conversation at any concurrency", async () => {
    const ids = set.questions.slice(0, 24).map(({ id }) => id);
    const { totals, traces } = await ask(ids, 16);
    expect(totals).toMatchObject({ completedTasks: 24, exactMatchAccuracy: 1, readGold: 1 });
    for (const { messages, task } of traces) {
      expect(messages[1]).toEqual({ role: "user", content: task.question });
      expect(messages.filter((message) => message.role === "user")).toHaveLength(1);
    }
  });
});
