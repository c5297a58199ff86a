import type { Question } from "../../src/tasks/question.js";
import type { ToolCallRecord, QuestionTrace as Trace } from "../../src/traces/trace.js";

/** Returns a finished trace. Fields that a test does not set do not matter. */

const QUESTION: Question = {
  id: 1,
  question: "How much are the dues?",
  answer: "$40",
  message_ids: ["<gold@x>"],
  how_realistic: 0.8,
  inbox_address: "a@b.example",
  query_date: "2001-05-14",
};

export const TURN: Trace["turns"][number] = {
  startedAt: "2026-01-01T00:00:00.000Z",
  latencyMs: 1000,
  finishReason: "stop",
  rawFinishReason: "stop",
  usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
  costUsd: 0,
  retries: [],
  cached: false,
};

export type Unscored = Omit<Trace, "scores">;

export function trace(changes: Partial<Unscored> = {}, task: Partial<Question> = {}): Unscored {
  return {
    kind: "question",
    traceId: "trace_1",
    sessionId: "session_1",
    runId: "run_1",
    taskId: 1,
    epoch: 1,
    agentId: "email-search",
    model: "script/test",
    startedAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:01.000Z",
    durationMs: 1000,
    ending: "answered",
    error: null,
    messages: [],
    toolCalls: [],
    turns: [],
    maxTurns: 10,
    answer: "$40",
    sources: [],
    judge: null,
    task: { ...QUESTION, ...task },
    ...changes,
  };
}

/** Returns a call with this result, or a failed call for null. */
export function called(name: string, result: ToolCallRecord["result"]): ToolCallRecord {
  const refused = result === null;
  return {
    id: "c1",
    name,
    arguments: { message_id: "<gold@x>" },
    result,
    error: refused ? "There is no mail <gold@x>." : null,
    errorKind: refused ? "invalid_email" : null,
    turn: 0,
    startedAt: "2026-01-01T00:00:00.000Z",
    durationMs: 1,
  };
}

export const itself = (id: string): string => id;
