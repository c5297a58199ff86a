import type { Message } from "../domain/models/conversation.js";
import { isChatTrace } from "../domain/runs/chat.js";
import { isSuiteTrace } from "../domain/runs/trace.js";
import type { TaskId } from "../domain/tasks/task-id.js";
import type { ExportedTrace } from "./trace-format.js";

/** The gold answer; empty where there is none. */
export function goldOf(trace: ExportedTrace): string {
  return isChatTrace(trace) || isSuiteTrace(trace) ? "" : trace.task.answer;
}

/** Chats have no task: each counts as one of its own. */
export function taskIdOf(trace: ExportedTrace): TaskId {
  return isChatTrace(trace) ? trace.traceId : trace.taskId;
}

export function epochOf(trace: ExportedTrace): number {
  return isChatTrace(trace) ? 1 : trace.epoch;
}

/** The messages of this trace, without those of earlier chats in the same session. */
export function ownMessages(trace: ExportedTrace): readonly Message[] {
  if (!isChatTrace(trace) || trace.historyLength === 0) return trace.messages;
  return [...trace.messages.slice(0, 1), ...trace.messages.slice(1 + trace.historyLength)];
}
