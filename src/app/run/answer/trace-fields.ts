import { randomUUID } from "node:crypto";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import type { AttemptedAnswer } from "../../answer/attempt-answer.js";
import type { Answering } from "./answering.js";

/** What the traces of all tasks hold, before they are scored. */
export function traceFields(
  { runId, agent, model }: Answering,
  { task, epoch }: PlannedTask,
  { times, rollout, error }: Pick<AttemptedAnswer, "times" | "rollout" | "error">,
) {
  return {
    traceId: `trace_${randomUUID()}`,
    sessionId: `session_${randomUUID()}`,
    runId,
    taskId: task.id,
    epoch,
    agentId: agent.id,
    model: model.id,
    ...times,
    ...rollout,
    error,
    maxTurns: agent.settings.maxTurns,
    sources: [...rollout.sources],
    scores: {},
    judge: null,
  };
}
