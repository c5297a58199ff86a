import fc from "fast-check";
import { FINISH_REASONS } from "../../src/models/model.js";
import type { JsonValue } from "../../src/platform/json.js";
import { ENDINGS } from "../../src/tasks/ending.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { ANSWERED } from "./traces.js";

/** Traces as no agent should produce them, although some do. */

/** Includes lone surrogates, NUL, line ends and JSON-like text. */
const hostileText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .array(fc.constantFrom("\ud800", "\udfff", "\0", "\r\n", "\u2028", '"', "\\", "{}", "[]", "a", "é", "🦊"))
    .map((parts) => parts.join("")),
);

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
const time = fc
  .date({ min: new Date("1969-01-01"), max: new Date("2300-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString());
const ms = fc.oneof(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.constantFrom(0, 1e308));
const tokens = fc.nat();
const usage = fc.option(
  fc
    .record({ inputTokens: tokens, outputTokens: tokens, cachedInputTokens: tokens })
    .map((all) => ({ ...all, cachedInputTokens: Math.min(all.cachedInputTokens, all.inputTokens) })),
);

const turn = fc.record({
  startedAt: time,
  latencyMs: ms,
  waitedMs: ms,
  finishReason: fc.constantFrom(...FINISH_REASONS),
  rawFinishReason: hostileText,
  usage,
  costUsd: fc.option(fc.double({ min: 0, max: 10, noNaN: true })),
  retries: fc.array(fc.record({ attempt: fc.nat(), reason: hostileText, waitedMs: ms }), { maxLength: 2 }),
  cached: fc.boolean(),
});

const toolCall = fc
  .record({ id: hostileText, name: hostileText, arguments: json, invalid: fc.option(hostileText, { nil: undefined }) })
  .map(({ invalid, ...call }) => (invalid === undefined ? call : { ...call, invalid }));

const message = fc.oneof(
  fc.record({ role: fc.constant("user" as const), content: hostileText }),
  fc.record({ role: fc.constant("assistant" as const), content: hostileText, toolCalls: fc.array(toolCall) }),
  fc.record({
    role: fc.constant("tool" as const),
    toolCallId: hostileText,
    name: hostileText,
    content: hostileText,
    isError: fc.boolean(),
  }),
);

const record = fc
  .record({
    id: hostileText,
    name: hostileText,
    arguments: json,
    result: json,
    error: fc.option(hostileText),
    turn: fc.nat({ max: 5 }),
    startedAt: time,
    durationMs: ms,
  })
  .map((call) => ({
    ...call,
    result: call.error === null ? call.result : null,
    errorKind: call.error === null ? null : ("failed" as const),
  }));

/** As read from the database, which stores JSON. */
export const hostileTrace: fc.Arbitrary<QuestionTrace> = fc
  .record({
    traceId: fc.oneof(
      hostileText,
      fc.uuid().map((id) => `trace_${id}`),
    ),
    sessionId: hostileText,
    agentId: hostileText,
    model: hostileText,
    startedAt: time,
    endedAt: time,
    ending: fc.constantFrom(...ENDINGS),
    error: fc.option(hostileText),
    system: fc.option(hostileText),
    messages: fc.array(message, { maxLength: 6 }),
    toolCalls: fc.array(record, { maxLength: 4 }),
    turns: fc.array(turn, { maxLength: 4 }),
    answer: fc.option(hostileText),
    sources: fc.array(hostileText, { maxLength: 2 }),
    scores: fc.dictionary(
      hostileText,
      fc.record({ value: fc.option(fc.double({ min: -1, max: 1, noNaN: true })), explanation: hostileText }),
      { maxKeys: 3 },
    ),
    question: hostileText,
  })
  .map(({ system, messages, question, ...fields }) => ({
    ...ANSWERED,
    ...fields,
    messages: [...(system === null ? [] : [{ role: "system" as const, content: system }]), ...messages],
    task: { ...ANSWERED.task, question },
  }))
  .map((trace) => JSON.parse(JSON.stringify(trace)) as QuestionTrace);
