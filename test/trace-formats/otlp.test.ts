import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostileTrace } from "./hostile-traces.js";
import { ALL_KINDS, CHAT } from "./kinds-of-traces.js";
import { otlpLines } from "./otlp-line.js";
import { problemsOf, spansOf, tracesDataSchema, valuesOf } from "./otlp-reader.js";
import { ANSWERED, FAILED } from "./traces.js";

const SEARCH = { name: "email_search", description: "Search the mailbox.", parameters: { type: "object" } };

const linesOf = (trace: Parameters<typeof otlpLines>[0], content = true) => otlpLines(trace, [SEARCH], content);

const spansIn = (trace: typeof ANSWERED) => spansOf(tracesDataSchema.parse(JSON.parse(linesOf(trace)[0] ?? "")));

describe("an OTLP trace", () => {
  it("takes one line, and follows the OTLP rules", () => {
    for (const trace of [ANSWERED, FAILED, ...ALL_KINDS]) {
      const lines = linesOf(trace);
      expect(lines).toHaveLength(1);
      expect(problemsOf(lines[0] ?? "")).toEqual([]);
    }
  });

  it("contains the agent's span and, below it, the model and tool calls by start time", () => {
    const spans = spansIn(ANSWERED);
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ["invoke_agent email-search", 1],
      ["chat best", 3],
      ["execute_tool email_search", 1],
      ["execute_tool email_get", 1],
      ["chat best", 3],
    ]);
    expect(new Set(spans.slice(1).map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([spans[0]?.spanId]));
  });

  it("derives its id from the trace's UUID, and the span ids from the trace", () => {
    const id = "0b9f3c9e-6a35-4a57-8a6d-0d3c5a5c0f11";
    const [root, turn] = spansIn({ ...ANSWERED, traceId: `trace_${id}` });
    expect(root?.traceId).toBe(id.replaceAll("-", ""));
    const [again] = spansIn({ ...ANSWERED, traceId: `trace_${id}` });
    expect(again?.spanId).toBe(root?.spanId);
    expect(turn?.spanId).not.toBe(root?.spanId);
    const zeros = "trace_00000000-0000-0000-0000-000000000000";
    expect(problemsOf(linesOf({ ...ANSWERED, traceId: zeros })[0] ?? "")).toEqual([]);
  });

  it("contains the duration of a call, but not the wait before it", () => {
    const [first, ...others] = ANSWERED.turns;
    if (first === undefined) throw new Error("there is no turn");
    const [, turn] = spansIn({ ...ANSWERED, turns: [{ ...first, waitedMs: 250.5 }, ...others] });
    const start = BigInt(Date.parse(first.startedAt)) * 1_000_000n + 250_500_000n;
    expect([turn?.startTimeUnixNano, turn?.endTimeUnixNano]).toEqual([`${start}`, `${start + 800_000_000n}`]);
  });

  it("puts question and answer into the attributes for Langfuse and Phoenix, and the conversation into each call", () => {
    const [root, first, search, , last] = spansIn(ANSWERED).map(valuesOf);
    expect(root?.get("input.value")).toBe("When is the call?");
    expect(root?.get("output.value")).toBe("On Friday.");
    expect(root?.get("session.id")).toBe("session_1");
    expect(JSON.parse(String(first?.get("gen_ai.input.messages")))).toHaveLength(1);
    expect(JSON.parse(String(first?.get("gen_ai.output.messages")))).toMatchObject([
      { role: "assistant", finish_reason: "tool_call", parts: [{ type: "text" }, { type: "tool_call" }, {}, {}] },
    ]);
    expect(JSON.parse(String(last?.get("gen_ai.input.messages")))).toHaveLength(4);
    expect(JSON.parse(String(first?.get("gen_ai.tool.definitions")))).toEqual([{ type: "function", ...SEARCH }]);
    expect(search?.get("gen_ai.tool.description")).toBe("Search the mailbox.");
    expect(search?.get("gen_ai.tool.call.result")).toBe('{"total":1}');
  });

  it("names provider and model as the conventions require, and the model that answered", () => {
    const turns = ANSWERED.turns.map((turn) => ({ ...turn, model: "gemini-3-001" }));
    const [, call] = spansIn({ ...ANSWERED, model: "google/gemini-3", turns }).map(valuesOf);
    expect(call?.get("gen_ai.provider.name")).toBe("gcp.gemini");
    expect(call?.get("gen_ai.request.model")).toBe("gemini-3");
    expect(call?.get("gen_ai.response.model")).toBe("gemini-3-001");
  });

  it("counts cached tokens as input, and omits counts that the server did not report", () => {
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, cacheWriteTokens: 30 };
    const [turn, other] = ANSWERED.turns;
    if (turn === undefined || other === undefined) throw new Error("there are no turns");
    const [, first, , , last] = spansIn({ ...ANSWERED, turns: [{ ...turn, usage }, other] }).map(valuesOf);
    const tokens = [...(first ?? [])].filter(([key]) => key.startsWith("gen_ai.usage."));
    expect(tokens.map(([, value]) => value)).toEqual(["100", "20", "60", "30"]);
    expect([...(last ?? [])].some(([key]) => key.startsWith("gen_ai.usage."))).toBe(false);
  });

  it("marks failures with status and kind", () => {
    const [root] = spansIn(FAILED);
    expect(root?.status).toEqual({ code: 2, message: "401 no" });
    expect(valuesOf(root ?? { attributes: [] }).get("error.type")).toBe("model_error");
    const broken = spansIn(ANSWERED)[3];
    expect(broken?.status).toEqual({ code: 2, message: "not JSON" });
    expect(valuesOf(broken ?? { attributes: [] }).get("error.type")).toBe("unparsable_call");
  });

  it("marks the attempts of an unanswered call as failed, and reports no usage for them", () => {
    const retries = [{ attempt: 1, reason: "503", waitedMs: 10 }];
    const lost = { ...ANSWERED.turns[1], finishReason: "other", rawFinishReason: "server", retries, usage: null };
    const [, call] = spansIn({ ...FAILED, turns: [lost as (typeof ANSWERED.turns)[number]] });
    expect(call?.status).toEqual({ code: 2, message: "401 no" });
    expect(valuesOf(call ?? { attributes: [] }).get("error.type")).toBe("server");
  });

  it("contains one evaluation per score that has a value", () => {
    const events = spansIn(ANSWERED)[0]?.events ?? [];
    expect(events.map((event) => valuesOf(event).get("gen_ai.evaluation.name"))).toEqual([
      "exactMatch",
      "semanticScore",
    ]);
    expect(events.map((event) => valuesOf(event).get("gen_ai.evaluation.score.value"))).toEqual([0, 0.5]);
  });

  it("omits all conversation and mail if --no-content is given", () => {
    const judge = { value: 1, explanation: "the call is on Friday" };
    const [line = ""] = linesOf({ ...ANSWERED, scores: { judgeScore: judge } }, false);
    expect(problemsOf(line)).toEqual([]);
    for (const said of ["When is", "Friday", "You search", `total\\":1`, "not JSON", "kim@", "<1@x>", "Search the"]) {
      expect(line).not.toContain(said);
    }
    expect(line).toContain("gen_ai.usage.input_tokens");
    expect(line).toContain("judgeScore");
  });

  it("contains the question of a chat, and only its own turns, not earlier chats", () => {
    const [line = ""] = linesOf(CHAT);
    expect(problemsOf(line)).toEqual([]);
    const [root, first] = spansOf(tracesDataSchema.parse(JSON.parse(line))).map(valuesOf);
    expect(root?.get("input.value")).toBe("When is the call?");
    expect(JSON.parse(String(first?.get("gen_ai.input.messages")))).toHaveLength(3);
    expect(String(first?.get("gen_ai.output.messages"))).toContain("email_search");
  });
});

it("otlpFormat writes one line that follows the OTLP rules for any trace", () => {
  fc.assert(
    fc.property(hostileTrace, fc.boolean(), (trace, content) => {
      const lines = otlpLines(trace, [], content);
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toMatch(/[\r\n]/);
      expect(problemsOf(lines[0] ?? "")).toEqual([]);
    }),
    { numRuns: process.env.ART_E_LONG ? 10_000 : 300 },
  );
});

it("otlpFormat does not truncate a tool result of a megabyte", () => {
  const content = "x".repeat(1_000_000);
  const messages = ANSWERED.messages.map((message) => (message.role === "tool" ? { ...message, content } : message));
  const [line = ""] = otlpLines({ ...ANSWERED, messages });
  expect(problemsOf(line)).toEqual([]);
  expect(line).toContain(content);
});
