// Builds the unscored traces of tasks, training episodes and chat messages.
import { randomUUID } from "node:crypto";
import { definedProperties } from "../platform/optional-values.js";
import type { Ending } from "../tasks/ending.js";
import { isUnchanged } from "../tasks/mailbox-changes.js";
import type { PlannedTask, Question } from "../tasks/question.js";
import type { MailboxState } from "../tools/mailbox-state.js";
import type { MailboxBinding } from "../traces/chats-store.js";
import type { ChatTrace, TaskRecord, Trace } from "../traces/trace.js";
import type { AttemptedAnswer } from "./attempt-answer.js";

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

/**
 * Returns a question's record for its trace. What the agent changed is part of it if the task asks for actions, and the
 * emails that were planted for the attempt, if there are any.
 */
export function questionRecord(task: Question, state: MailboxState | undefined) {
  const attack = state?.attack ?? undefined;
  const actions = state?.changes();
  const isRecorded = actions !== undefined && (task.goal !== undefined || !isUnchanged(actions));
  return { kind: "question" as const, task, ...(isRecorded ? { actions } : {}), ...definedProperties({ attack }) };
}

/** Returns the trace of one message of a chat, after `historyLength` earlier messages. */
export function newChatTrace(
  {
    binding,
    state,
    ...chat
  }: Pick<ChatTrace, "sessionId" | "agentId" | "agentVersion" | "model" | "maxTurns"> &
    Pick<ChatTrace, "question" | "historyLength" | "repeats"> & {
      readonly binding: MailboxBinding;
      readonly state: MailboxState | undefined;
    },
  attempt: FinishedAttempt,
): ChatTrace {
  const actions = state?.changes();
  const changed = actions === undefined || isUnchanged(actions) ? {} : { actions };
  return newTrace({ kind: "chat" as const, ...chat, ...binding, ...changed }, attempt);
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
