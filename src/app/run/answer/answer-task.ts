import type { JsonObject } from "../../../domain/json.js";
import { redactJson } from "../../../domain/redact.js";
import type { TaskActivity } from "../../../domain/runs/task-activity.js";
import type { Trace } from "../../../domain/runs/trace.js";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import type { OpenedTask } from "../../../domain/tasks/suite.js";
import { type AttemptedAnswer, attemptAnswer } from "../../answer/attempt-answer.js";
import { withVerdict } from "../../score/score-trace.js";
import { agentLoopBackend } from "./agent-loop-backend.js";
import type { AnswerContext } from "./answer-context.js";
import { chargeFailedRetries, endingOfFailure } from "./model-failure.js";
import { notAttempted, traceFields } from "./trace-fields.js";

const JUDGING: TaskActivity = { type: "judging" };

/**
 * Opens one task, has the agent do it, grades what came of it, closes it, and has the answer judged where there is a
 * judge. Errors of the model or its server become the trace's ending and are passed to `onFailure`; they are not
 * thrown. What was spent before a failure stays in the trace.
 */
export async function answerTask(
  shared: AnswerContext,
  planned: PlannedTask,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<Trace> {
  const startedAt = new Date();
  const { runId, agent, model } = shared;
  const run = { runId, agentId: agent.id, model: model.id, maxTurns: agent.settings.maxTurns };
  const opening = await shared.suite.open(planned.task, signal);
  if (!opening.ok) {
    return { ...traceFields(run, planned, notAttempted("not_started", opening.reason, startedAt)), ...opening.record };
  }
  const { opened } = opening;
  let trace: Trace;
  try {
    const attempted = await attempt(shared, planned, opened, signal);
    if (attempted.thrown !== null) {
      onFailure(attempted.thrown);
      chargeFailedRetries(attempted.rollout, attempted.thrown);
    }
    const record = await opened.grade(attempted.rollout, signal);
    trace = withoutSecrets({ ...traceFields(run, planned, attempted), ...record }, opened.secrets ?? []);
  } finally {
    await opened.close();
  }
  if (shared.scoring.judge !== null) shared.onActivity?.({ id: planned.task.id, epoch: planned.epoch }, JUDGING);
  return withVerdict(trace, shared.scoring, signal);
}

/** Tools show an agent none of them; it may have put one together from its parts. */
function withoutSecrets(trace: Trace, secrets: readonly string[]): Trace {
  return secrets.length === 0 ? trace : (redactJson(trace as unknown as JsonObject, secrets) as unknown as Trace);
}

function attempt(
  shared: AnswerContext,
  { task: { id }, epoch }: PlannedTask,
  { instruction, variables, access }: OpenedTask,
  signal: AbortSignal,
): Promise<AttemptedAnswer> {
  const { maxTurns } = shared.agent.settings;
  const backend = shared.backend ?? agentLoopBackend(shared);
  return attemptAnswer(
    {
      timeoutMs: shared.taskTimeoutMs,
      run(transcript, taskSignal, workspace) {
        const context = { ...access, signal: taskSignal, workspace };
        const onActivity = (activity: TaskActivity) => shared.onActivity?.({ id, epoch }, activity);
        return backend.answer({ id, epoch, instruction, variables, maxTurns, context, onActivity }, transcript);
      },
      endingOf: endingOfFailure,
    },
    signal,
  );
}
