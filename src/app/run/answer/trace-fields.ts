import { randomUUID } from "node:crypto";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import type { Ending } from "../../../domain/tasks/task-ending.js";
import type { AttemptedAnswer } from "../../answer/attempt-answer.js";

type Attempted = Pick<AttemptedAnswer, "times" | "rollout" | "error">;

/** What the traces of one run have in common. */
interface RunFields {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly maxTurns: number;
}

/** What the traces of all tasks hold, before they are scored. */
export function traceFields(
  { runId, agentId, model, maxTurns }: RunFields,
  { task, epoch }: PlannedTask,
  { times, rollout, error }: Attempted,
) {
  return {
    traceId: `trace_${randomUUID()}`,
    sessionId: `session_${randomUUID()}`,
    runId,
    taskId: task.id,
    epoch,
    agentId,
    model,
    ...times,
    ...rollout,
    error,
    maxTurns,
    sources: [...rollout.sources],
    scores: {},
    judge: null,
  };
}

/** A task on which no agent has worked, and why. */
export function notAttempted(ending: Ending, reason: string, startedAt = new Date()): Attempted {
  const ended = new Date();
  const times = {
    startedAt: startedAt.toISOString(),
    endedAt: ended.toISOString(),
    durationMs: ended.getTime() - startedAt.getTime(),
  };
  const transcript = { messages: [], toolCalls: [], turns: [] };
  return { times, rollout: { ...transcript, ending, answer: null, sources: [] }, error: reason };
}
