import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import type { ChatTrace, QuestionTrace, SuiteTrace, ToolCallRecord, Turn } from "../../src/traces/trace.js";
import { ANSWERED, FAILED } from "./traces.js";

/** A trace of each kind that a format must support. */

const [firstTurn, lastTurn] = ANSWERED.turns as [Turn, Turn];
const [firstCall] = ANSWERED.toolCalls as [ToolCallRecord];
const [system, question] = ANSWERED.messages;
const start = [system, question] as ExportedTrace["messages"];

/**
 * Every call has a result, the answer comes from a tool, and two models replied, with tokens read from and written to a
 * cache.
 */
export const BY_TOOL: QuestionTrace = {
  ...ANSWERED,
  traceId: "trace_by_tool",
  taskId: 8,
  messages: [
    ...start,
    {
      role: "assistant",
      content: "",
      toolCalls: [
        { id: "c1", name: "email_search", arguments: { query: "call" } },
        { id: "c2", name: "email_search", arguments: { query: "meeting", limit: null } },
      ],
    },
    { role: "tool", toolCallId: "c1", name: "email_search", content: "x".repeat(3_000), isError: false },
    { role: "tool", toolCallId: "c2", name: "email_search", content: '{"total":0}', isError: false },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "c3", name: "return_final_answer", arguments: { answer: "On Friday.", sources: ["<1@x>"] } }],
    },
    { role: "tool", toolCallId: "c3", name: "return_final_answer", content: "Answered.", isError: false },
  ],
  toolCalls: [
    firstCall,
    { ...firstCall, id: "c2", arguments: { query: "meeting", limit: null }, result: { total: 0 } },
    { ...firstCall, id: "c3", name: "return_final_answer", arguments: {}, result: "Answered.", turn: 1 },
  ],
  turns: [
    {
      ...firstTurn,
      model: "best-2026-01-01",
      responseId: "resp_1",
      waitedMs: 250,
      usage: { inputTokens: 1000, outputTokens: 20, cachedInputTokens: 600, cacheWriteTokens: 100 },
      sent: {
        maxTokens: 512,
        temperature: null,
        toolChoice: "required",
        adjusted: [{ parameter: "temperature", asked: 0.5, sent: null, reason: "it takes none" }],
      },
      retries: [{ attempt: 1, reason: "429", waitedMs: 200 }],
    },
    { ...lastTurn, finishReason: "tool_calls", usage: { inputTokens: 50, outputTokens: 5, cachedInputTokens: 0 } },
  ],
  scores: {
    exactMatch: { value: 1 },
    hallucination: { value: 1 },
    semanticScore: { value: 0.5 },
    judgeScore: { value: 0.5, explanation: "partly: near enough" },
    judgeCorrect: { value: 0, explanation: "partly: near enough" },
  },
  judge: {
    model: "acme/judge",
    baseUrl: null,
    protocol: "verdict",
    version: 1,
    promptHash: "0123456789ab",
    votes: 1,
    verdict: "partly",
    reason: "near enough",
    agreement: 1,
    cast: [],
    costUsd: 0.01,
    usage: { inputTokens: 10, outputTokens: 1, cachedInputTokens: 0 },
  },
};

export const SECOND_EPOCH: QuestionTrace = {
  ...BY_TOOL,
  traceId: "trace_epoch_2",
  epoch: 2,
  scores: { exactMatch: { value: 0 }, semanticScore: { value: 0.25 } },
  judge: null,
};

export const REFUSED: QuestionTrace = {
  ...ANSWERED,
  traceId: "trace_refused",
  taskId: 9,
  messages: [...start, { role: "assistant", content: "I can't help with that.", toolCalls: [] }],
  toolCalls: [],
  turns: [{ ...lastTurn, finishReason: "refusal", rawFinishReason: "refusal" }],
  answer: "I can't help with that.",
  sources: [],
};

/** The first reply was truncated, the second empty, and the third was the answer. */
export const CUT_OFF: QuestionTrace = {
  ...ANSWERED,
  traceId: "trace_cut_off",
  taskId: 10,
  messages: [
    ...start,
    { role: "assistant", content: "Well, let me think about", toolCalls: [] },
    { role: "user", content: "Your reply was cut off for its length." },
    { role: "assistant", content: "", toolCalls: [] },
    { role: "user", content: "Your reply was empty." },
    { role: "assistant", content: "On Friday.", toolCalls: [] },
  ],
  toolCalls: [],
  turns: [{ ...lastTurn, finishReason: "length" }, { ...lastTurn, finishReason: "other" }, lastTurn],
};

export const OUT_OF_TURNS: QuestionTrace = {
  ...ANSWERED,
  traceId: "trace_out_of_turns",
  taskId: 11,
  ending: "out_of_turns",
  answer: null,
  sources: [],
  messages: ANSWERED.messages.slice(0, -1),
  turns: [firstTurn],
};

export const TIMED_OUT: QuestionTrace = {
  ...OUT_OF_TURNS,
  traceId: "trace_timed_out",
  taskId: 12,
  ending: "timeout",
  error: "No answer within 60 s.",
  scores: {},
};

/** The server failed after the first reply. The attempts are a turn without a reply. */
export const BROKEN_OFF: QuestionTrace = {
  ...OUT_OF_TURNS,
  traceId: "trace_broken_off",
  taskId: 13,
  ending: "model_error",
  error: "acme/best: 500 down (after 3 attempts)",
  turns: [firstTurn, { ...lastTurn, latencyMs: 0, finishReason: "other", retries: [] }],
  scores: {},
};

/** An external agent's own report: several replies in one turn, and a tool result without a call. */
export const PROGRAM: QuestionTrace = {
  ...ANSWERED,
  traceId: "trace_program",
  taskId: 14,
  messages: [
    ...start,
    { role: "assistant", content: "I look.", toolCalls: [] },
    { role: "tool", toolCallId: "", name: "grep", content: "found", isError: false },
    { role: "assistant", content: "On Friday.", toolCalls: [] },
  ],
  toolCalls: [],
  turns: [lastTurn],
};

export const CHAT: ChatTrace = (() => {
  const { runId, taskId, epoch, task, judge, ...shared } = BY_TOOL;
  return {
    ...shared,
    kind: "chat",
    traceId: "trace_chat",
    messages: [
      ...start.slice(0, 1),
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Hello!", toolCalls: [] },
      ...BY_TOOL.messages.slice(1),
    ],
    scores: {},
    agentVersion: 3,
    question: "When is the call?",
    inbox: null,
    queryDate: null,
    historyLength: 2,
  };
})();

export const SUITE: SuiteTrace = {
  ...BY_TOOL,
  kind: "suite",
  traceId: "trace_suite",
  taskId: "a1b2-c3",
  task: {
    id: "a1b2-c3",
    suite: "desk",
    dialect: "flowbook",
    tool: "jupyter",
    instruction: "Plot it.",
    snapshot: "base",
    tags: ["plot"],
    relatedApps: [],
    actionNumber: null,
    counterpart: null,
  },
  grade: { score: 0.5, state: "success", reason: "one of two" },
  scores: { taskScore: { value: 0.5 } },
  judge: null,
};

/** The machine could not be set up, so the conversation is empty. */
export const NOT_STARTED: SuiteTrace = {
  ...SUITE,
  traceId: "trace_not_started",
  taskId: "z9",
  ending: "not_started",
  error: "no machine",
  messages: [],
  toolCalls: [],
  turns: [],
  answer: null,
  sources: [],
  scores: {},
};

export const ALL_KINDS: readonly ExportedTrace[] = [
  ANSWERED,
  { ...FAILED, taskId: 6 },
  BY_TOOL,
  SECOND_EPOCH,
  REFUSED,
  CUT_OFF,
  OUT_OF_TURNS,
  TIMED_OUT,
  BROKEN_OFF,
  PROGRAM,
  CHAT,
  SUITE,
  NOT_STARTED,
];

export const TOOLS = ["email_search", "email_get", "return_final_answer"].map((name) => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: "object", properties: { query: { type: "string" } } },
}));
