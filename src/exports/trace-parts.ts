import { isChatTrace } from "../domain/runs/chat.js";
import { questionOf } from "../domain/tasks/task.js";
import type { TaskId } from "../domain/tasks/task-id.js";
import type { ExportedTrace } from "./trace-format.js";

/** The gold answer; empty where there is none, as of tasks that are graded by what is left behind. */
export function goldOf(trace: ExportedTrace): string {
  return isChatTrace(trace) ? "" : (questionOf(trace.task)?.answer ?? "");
}

/** Chats have no task: each counts as one of its own. */
export function taskIdOf(trace: ExportedTrace): TaskId {
  return isChatTrace(trace) ? trace.traceId : trace.taskId;
}

export function epochOf(trace: ExportedTrace): number {
  return isChatTrace(trace) ? 1 : trace.epoch;
}
