import fc from "fast-check";
import { FINISH_REASONS, type Message } from "../../src/models/model.js";
import type { JsonValue } from "../../src/platform/json.js";
import { ENDINGS } from "../../src/tasks/ending.js";
import type { QuestionTrace, Turn } from "../../src/traces/trace.js";
import { ANSWERED } from "./traces.js";

/** Conversations in the form that the agent loop produces, with arbitrary content from models, tools and mail. */

/** Includes control characters, surrogate halves, quotes, attachment-like text and long text. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("", "\ud800", "\udfff\\", "\\ud800", "a\u0000b", "\u2028\r\n", '"}],', "attachment://x", "__proto__"),
  fc.nat(3).map((n) => "é\ud83d".repeat(n * 700)),
);

const json: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>,
  fc.dictionary(text, text, { maxKeys: 3 }),
  fc.integer({ min: 1, max: 90 }).map((depth) => {
    let value: JsonValue = 1;
    for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
    return value;
  }),
);

const usage = fc.option(fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat(), cachedInputTokens: fc.nat() }), {
  nil: null,
});

const turn: fc.Arbitrary<Turn> = fc
  .record({
    latencyMs: fc.nat(),
    finishReason: fc.constantFrom(...FINISH_REASONS),
    rawFinishReason: text,
    usage,
    costUsd: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
    cached: fc.boolean(),
  })
  .map((fields) => ({ ...fields, retries: [], startedAt: ANSWERED.startedAt }));

/** A reply with calls, and results for all, some or no calls. */
const exchange = fc
  .record({
    content: text,
    calls: fc.array(
      fc.record({ name: fc.oneof(text, fc.constant("email_search")), arguments: json, invalid: fc.option(text) }),
      {
        maxLength: 3,
      },
    ),
    results: fc.array(fc.record({ content: text, isError: fc.boolean() }), { maxLength: 3 }),
    complaint: fc.option(text),
  })
  .map((reply) => (turnIndex: number): Message[] => {
    const toolCalls = reply.calls.map(({ invalid, ...call }, i) => ({
      ...call,
      id: `call_${turnIndex}_${i}`,
      ...(invalid === null ? {} : { invalid }),
    }));
    const results = reply.results.map(
      (result, i): Message => ({
        role: "tool",
        toolCallId: toolCalls[i]?.id ?? "",
        name: toolCalls[i]?.name ?? "x",
        ...result,
      }),
    );
    return [
      { role: "assistant", content: reply.content, toolCalls },
      ...results,
      ...(reply.complaint === null ? [] : [{ role: "user", content: reply.complaint } as const]),
    ];
  });

export const hostileConversation: fc.Arbitrary<QuestionTrace> = fc
  .record({
    system: text,
    exchanges: fc.array(exchange, { maxLength: 4 }),
    turns: fc.array(turn, { maxLength: 5 }),
    answer: fc.option(text, { nil: null }),
    error: fc.option(text, { nil: null }),
    ending: fc.constantFrom(...ENDINGS),
    sources: fc.array(text, { maxLength: 2 }),
    question: text.filter((asked) => asked !== ""),
    score: fc.option(fc.double({ min: -1000, max: 1000, noNaN: true }), { nil: null }),
    explanation: text,
    result: json,
  })
  .map(({ system, exchanges, question, score, explanation, result, ...rest }) => {
    const messages: Message[] = [
      { role: "system", content: system },
      { role: "user", content: question },
      ...exchanges.flatMap((make, i) => make(i)),
    ];
    const toolCalls = messages.flatMap((message) =>
      message.role === "assistant"
        ? message.toolCalls.slice(1).map(({ id, name, arguments: args }) => {
            const [call] = ANSWERED.toolCalls as [(typeof ANSWERED.toolCalls)[number]];
            return { ...call, id, name, arguments: args, result };
          })
        : [],
    );
    const scores = { semanticScore: { value: score, explanation }, exactMatch: { value: 1 } };
    return { ...ANSWERED, ...rest, messages, toolCalls, scores, task: { ...ANSWERED.task, question } };
  });
