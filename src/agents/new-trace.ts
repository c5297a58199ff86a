import { randomUUID } from "node:crypto";
import type { Completion } from "../models/model.js";
import { definedProperties } from "../platform/optional-values.js";
import type { Ending } from "../tasks/ending.js";
import type { PlannedTask } from "../tasks/question.js";
import type { ChatTrace, MailboxBinding, TaskRecord, Trace, Turn } from "../traces/trace.js";
import type { AttemptedAnswer } from "./attempt-answer.js";

/** Builds the unscored traces of tasks, training episodes and chats. */

type FinishedAttempt = Pick<AttemptedAnswer, "times" | "rollout" | "error">;

/** Returns the trace of a run's task or a training episode. `record` is the question, or a graded suite task. */
export function newTaskTrace<R extends TaskRecord>(
  { runId, ...agent }: Pick<Trace, "runId" | "agentId" | "model" | "maxTurns">,
  { task, epoch }: PlannedTask,
  attempt: FinishedAttempt,
  record: R,
) {
  const ids = { sessionId: `session_${randomUUID()}`, runId, taskId: task.id, epoch };
  return { ...newTrace({ ...ids, ...agent }, attempt), judge: null, ...record };
}

/** Returns the trace of one message of a chat, after `historyLength` earlier messages. */
export function newChatTrace(
  {
    binding,
    ...chat
  }: Pick<ChatTrace, "sessionId" | "agentId" | "agentVersion" | "model" | "maxTurns"> &
    Pick<ChatTrace, "question" | "historyLength"> & { readonly binding: MailboxBinding },
  attempt: FinishedAttempt,
): ChatTrace {
  return newTrace({ kind: "chat" as const, ...chat, ...binding }, attempt);
}

function newTrace<F>(fields: F, { times, rollout, error }: FinishedAttempt) {
  return {
    traceId: `trace_${randomUUID()}`,
    ...fields,
    ...times,
    ...rollout,
    error,
    sources: [...rollout.sources],
    scores: {},
  };
}

/** Returns the attempt at a task that no agent started. */
export function notAttempted(ending: Ending, reason: string, startedAt = new Date()): FinishedAttempt {
  const end = new Date();
  const times = {
    startedAt: startedAt.toISOString(),
    endedAt: end.toISOString(),
    durationMs: end.getTime() - startedAt.getTime(),
  };
  const transcript = { messages: [], toolCalls: [], turns: [] };
  return { times, rollout: { ...transcript, ending, answer: null, sources: [] }, error: reason };
}

/** Returns the trace's record of a model call. */
export function turnOf(reply: Completion, startedAt: string): Turn {
  return {
    startedAt,
    ...definedProperties({ model: reply.model, responseId: reply.responseId }),
    latencyMs: reply.latencyMs,
    waitedMs: reply.waitedMs ?? 0,
    ...(reply.waits === undefined ? {} : { waits: [...reply.waits] }),
    finishReason: reply.finishReason,
    rawFinishReason: reply.rawFinishReason,
    usage: reply.usage,
    costUsd: reply.costUsd ?? null,
    retries: [...reply.retries],
    ...definedProperties({ sent: reply.sent }),
    cached: reply.cached ?? false,
    ...(reply.resumed === true ? { resumed: true } : {}),
  };
}
