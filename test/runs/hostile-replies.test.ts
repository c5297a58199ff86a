import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { QuestionSet } from "../../src/tasks/question.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { type ParsedRequest, WIRE_FORMATS } from "../providers/wire-request.js";
import { demoSet, MARCUS, openDemo, question, type TestDb } from "./demo-setup.js";
import { benchmark, remote } from "./run-setup.js";

/** Replies that nobody should send: each has its outcome, over every wire format and real HTTP. */

let demo: TestDb;
let set: QuestionSet;
let provider: FakeProvider;
beforeAll(async () => {
  demo = await openDemo();
  set = await demoSet();
});
afterAll(() => demo.close());
afterEach(() => provider.close());

const call = (name: string, args: Parameters<typeof JSON.stringify>[0]) => ({ name, arguments: args });
const search = call("email_search", { query: "dues", inbox_id: MARCUS });
const finish = { toolCalls: [call("return_final_answer", { answer: "$40", sources: [] })] };
const megabytes = (n: number) => "x".repeat(n * 1024 * 1024);

describe.each(WIRE_FORMATS)("over %s", (format) => {
  async function asked(answer: (request: ParsedRequest) => Answer, attempts = 1) {
    provider = await startFakeProvider(answer);
    const model = await remote(format, provider.baseUrl(format), attempts);
    const { results, traces } = await benchmark(demo.db, { model, set, questions: [question(set.questions, 16)] });
    const [result, trace] = [results[0], traces[0]];
    if (result === undefined || trace === undefined) throw new Error("the task left nothing");
    return { result, trace };
  }

  const partial = format.startsWith("openai") ? '{"query": "du' : ["du"];

  test.each([
    ["arguments that are cut off", call("email_search", partial), /not one JSON object\. Call it again/],
    ["a tool that nobody knows", call("send_money", { to: "me" }), /no tool "send_money"\. The tools are: .*email_get/],
    ["arguments of another form", call("email_search", { query: 7 }), /query/],
  ])("%s: the model is told, and goes on", async (_, wrong, told) => {
    const { result, trace } = await asked(({ turn }) => (turn === 0 ? { toolCalls: [wrong] } : finish));
    expect(result).toMatchObject({ ending: "answered", exactMatch: true, turns: 2 });
    expect(trace.toolCalls[0]?.error).toMatch(told);
    expect(JSON.stringify(provider.requests[1]?.body)).toContain(
      JSON.stringify(trace.toolCalls[0]?.error).slice(1, -1),
    );
  });

  test("nothing but unusable calls: tool_protocol_error", async () => {
    const { result } = await asked(() => ({ toolCalls: [call("send_money", {})] }));
    expect(result).toMatchObject({ ending: "tool_protocol_error", turns: 3 });
  });

  test("several calls at once: all are made, in their order", async () => {
    const wrong = call("send_money", {});
    const { result, trace } = await asked(({ turn }) => (turn === 0 ? { toolCalls: [search, wrong, search] } : finish));
    expect(result.ending).toBe("answered");
    expect(trace.toolCalls.slice(0, 3).map(({ name, error }) => [name, error === null])).toEqual([
      ["email_search", true],
      ["send_money", false],
      ["email_search", true],
    ]);
  });

  test.each<[string, Answer]>([
    ["the same call forever", { toolCalls: [search] }],
    ["empty replies", { content: "" }],
    ["replies cut off for their length", { content: "The", finishReason: "length" }],
  ])("%s: out_of_turns", async (_, answer) => {
    const { result, trace } = await asked(() => answer);
    expect(result).toMatchObject({ ending: "out_of_turns", turns: trace.maxTurns, agentAnswer: "" });
  });

  test("a finish reason of the provider's own is kept, and the text counts", async () => {
    const { result, trace } = await asked(() => ({ content: "$40", finishReason: "other" }));
    expect(result).toMatchObject({ ending: "answered", agentAnswer: "$40" });
    expect(trace.turns[0]).toMatchObject({ finishReason: "other" });
    expect(trace.turns[0]?.rawFinishReason).not.toBe("");
  });

  test("bytes that are not UTF-8 are replaced", async () => {
    const { result } = await asked(() => ({ fail: "invalid-utf8" }));
    expect(result).toMatchObject({ ending: "answered", agentAnswer: "before|\uFFFD|after" });
  });

  test("a reply of 10 MB: model_error, asked once", async () => {
    const { result, trace } = await asked(() => ({ content: megabytes(10) }), 3);
    expect(result).toMatchObject({ ending: "model_error", retries: 0 });
    expect(result.error).toContain("the reply is larger than 8 MB");
    expect(provider.requests).toHaveLength(1);
    expect(JSON.stringify(trace).length).toBeLessThan(100_000);
  });
});
