import { suiteTraceSchema, type Trace, traceSchema } from "../../domain/runs/trace.js";
import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import { isQuestion } from "../../domain/tasks/question.js";
import { readCompressed, StrangeMessage } from "../../queue/compress-json.js";
import type { ResultMessage, RunManifest } from "../../queue/messages.js";
import type { FinishedTask } from "../../queue/run-queue.js";
import { notAttempted, traceFields } from "../run/answer/trace-fields.js";
import { ungraded } from "../suites/task-record.js";

export interface ReadResult extends Pick<ResultMessage, "isHeld" | "server"> {
  readonly trace: Trace;
}

/** The trace of a task that came back. Where there is none, a failed one that says why. */
export async function readResult(
  finished: FinishedTask,
  planned: PlannedTask,
  manifest: RunManifest,
): Promise<ReadResult> {
  const failed = (why: string): ReadResult => ({
    trace: failedTrace(why, planned, manifest),
    isHeld: false,
    server: "answering",
  });
  if ("failure" in finished) return failed(reasonOf(finished.failure));
  const { result } = finished;
  try {
    const schema = isQuestion(planned.task) ? traceSchema : suiteTraceSchema;
    const trace = await readCompressed("The trace", result.trace, schema);
    checkSameTask(trace, planned, manifest);
    return { trace, isHeld: result.isHeld, server: result.server };
  } catch (error) {
    if (error instanceof StrangeMessage) return failed(`What ${result.worker} sent is refused: ${error.message}`);
    throw error;
  }
}

/** Null where the result cannot be read. */
export async function readTraceId(finished: FinishedTask): Promise<string | null> {
  if ("failure" in finished) return null;
  const schema = traceSchema.pick({ traceId: true });
  const read = await readCompressed("The trace", finished.result.trace, schema).catch(() => null);
  return read?.traceId ?? null;
}

/** BullMQ's words for a task whose worker was lost too often. */
function reasonOf(failure: string): string {
  return failure.includes("stalled") ? "Its worker died, or was cut off, three times: it is not tried again." : failure;
}

function checkSameTask(trace: Trace, { task, epoch }: PlannedTask, { runId }: RunManifest): void {
  const isSame =
    trace.runId === runId && trace.taskId === task.id && trace.task.id === task.id && trace.epoch === epoch;
  if (!isSame) throw new StrangeMessage("its trace is of another task");
}

/** A fault of the machinery, which is never graded. */
function failedTrace(why: string, planned: PlannedTask, { runId, settings }: RunManifest): Trace {
  const { agentId, model, maxTurns } = settings;
  const fields = traceFields({ runId, agentId, model, maxTurns }, planned, notAttempted("interrupted", why));
  const { task } = planned;
  return { ...fields, ...(isQuestion(task) ? { task } : ungraded(task, { state: "agent_error", reason: why })) };
}
