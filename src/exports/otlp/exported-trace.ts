import type { ToolSpec } from "../../domain/models/model.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import { instructionOf } from "../../domain/tasks/task.js";

/** The trace of a task or of a chat. */
export type ExportedTrace = Trace | ChatTrace;

export interface OtlpOptions {
  /** Of this program. */
  readonly version: string;
  /** False: what was said, called, answered and explained is left out. */
  readonly content: boolean;
  /** What the model was told of its tools; empty where that is not known. */
  readonly tools: readonly ToolSpec[];
}

export function isChatTrace(trace: ExportedTrace): trace is ChatTrace {
  return !("task" in trace);
}

export function questionOf(trace: ExportedTrace): string {
  return isChatTrace(trace) ? trace.question : instructionOf(trace.task);
}

/** The state that a suite's task ended in is a matter of its own; what grades it has are among its scores. */
export function gradeOf(trace: ExportedTrace): object | undefined {
  return !isChatTrace(trace) && isSuiteTrace(trace) ? trace.grade : undefined;
}
