import type { QuestionTrace as Trace, Turn } from "../../src/traces/trace.js";

function turn(startedAt: string, latencyMs: number, changes: Partial<Turn> = {}): Turn {
  return {
    startedAt,
    latencyMs,
    finishReason: "tool_calls",
    rawFinishReason: "tool_use",
    usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 },
    costUsd: 0.001,
    retries: [],
    cached: false,
    ...changes,
  };
}

/** Two searches in the first turn (the second failed), and the answer in the second. */
export const ANSWERED: Trace = {
  kind: "question",
  traceId: "trace_1",
  sessionId: "session_1",
  runId: "run_1",
  taskId: 7,
  epoch: 1,
  agentId: "email-search",
  model: "acme/best",
  startedAt: "2026-01-02T03:04:05.000Z",
  endedAt: "2026-01-02T03:04:08.500Z",
  durationMs: 3_500,
  ending: "answered",
  error: null,
  messages: [
    { role: "system", content: "You search." },
    { role: "user", content: "When is the call?" },
    {
      role: "assistant",
      content: "Let me look.",
      toolCalls: [
        { id: "c1", name: "email_search", arguments: { query: "call" } },
        { id: "c2", name: "email_get", arguments: {}, invalid: "{broken" },
        { id: "c3", name: "email_get", arguments: { message_id: "<1@x>" } },
      ],
    },
    { role: "tool", toolCallId: "c1", name: "email_search", content: '{"total":1}', isError: false },
    { role: "tool", toolCallId: "c2", name: "email_get", content: "not JSON", isError: true },
    { role: "assistant", content: "On Friday.", toolCalls: [] },
  ],
  toolCalls: [
    {
      id: "c1",
      name: "email_search",
      arguments: { query: "call" },
      result: { total: 1 },
      error: null,
      errorKind: null,
      turn: 0,
      startedAt: "2026-01-02T03:04:06.000Z",
      durationMs: 12,
    },
    {
      id: "c2",
      name: "email_get",
      arguments: {},
      result: null,
      error: "not JSON",
      errorKind: "unparsable_call",
      turn: 0,
      startedAt: "2026-01-02T03:04:06.100Z",
      durationMs: 1,
    },
  ],
  turns: [
    turn("2026-01-02T03:04:05.100Z", 800),
    turn("2026-01-02T03:04:07.000Z", 900, { finishReason: "stop", rawFinishReason: "end_turn", usage: null }),
  ],
  maxTurns: 10,
  answer: "On Friday.",
  sources: ["<1@x>"],
  scores: { exactMatch: { value: 0 }, semanticScore: { value: 0.5 }, readGold: { value: null, explanation: "none" } },
  judge: null,
  task: {
    id: 7,
    question: "When is the call?",
    answer: "Friday",
    message_ids: ["<1@x>"],
    how_realistic: 0.8,
    inbox_address: "kim@example.com",
    query_date: "2001-05-14",
  },
};

/** Failed before any reply. */
export const FAILED: Trace = {
  ...ANSWERED,
  traceId: "trace_2",
  ending: "model_error",
  error: "401 no",
  messages: ANSWERED.messages.slice(0, 2),
  toolCalls: [],
  turns: [],
  answer: null,
  sources: [],
  scores: {},
};
