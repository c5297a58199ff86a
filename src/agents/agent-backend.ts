// The port through which a task is answered, by the agent loop or an external agent. It does not know runs or scores.
import type { Completion, Message, ReplyDelta, TaskActivity, ToolCall } from "../models/model.js";
import type { TaskId } from "../tasks/question.js";
import type { ToolContext, ToolResult } from "../tools/tool.js";
import type { TaskVariables } from "./prompt-template.js";
import type { Rollout, Transcript } from "./rollout.js";

/**
 * Port: runs an agent. Fills the initially empty transcript. Throws a `ModelError` if the agent fails or cannot be
 * reached, and the signal's reason if the signal aborts.
 */
export interface AgentBackend {
  answer(task: AgentTask, transcript: Transcript): Promise<Rollout>;
}

/** A task for an agent: a task of a run or of a training episode, or one message of a chat. */
export interface AgentTask {
  /** The task's id in its dataset, or null for a chat. */
  readonly id: TaskId | null;
  /** Number of this repeat of the task, starting at 1. */
  readonly epoch: number;
  readonly instruction: string;
  readonly variables: TaskVariables;
  readonly maxTurns: number;
  readonly context: ToolContext;
  /** Text to append to the agent's prompt. */
  readonly instructions?: string | null;
  /** Earlier messages of the conversation, without its system prompt. */
  readonly history?: readonly Message[];
  /** Receives each reply and tool result of the agent loop, which waits for it. An error ends the loop. */
  readonly onStep?: ((step: AgentStep) => Promise<void> | void) | undefined;
  /**
   * Receives the parts of each reply before `onStep` receives the whole reply, and makes the agent loop stream.
   * `onDelta` must not throw.
   */
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined;
  /** Receives the current activity, such as a model or tool call. `onActivity` must not throw. */
  readonly onActivity?: ((activity: TaskActivity) => void) | undefined;
}

export type AgentStep =
  | {
      readonly type: "reply";
      readonly reply: Completion;
      readonly calls: readonly ToolCall[];
      /** The reply is neither a call nor an answer, for example because it was truncated. The model is asked again. */
      readonly isRejected: boolean;
    }
  | { readonly type: "result"; readonly call: ToolCall; readonly result: CallResult };

/** The result of a tool call. A tool has a time limit in training episodes only. */
export type CallResult = ToolResult | { readonly ok: false; readonly error: string; readonly kind: "timeout" };

export function mailboxOf({ id, variables: { inbox_address, query_date } }: AgentTask) {
  if (inbox_address === undefined || query_date === undefined) throw new Error(`task ${id} does not have a mailbox`);
  return { inbox_address, query_date };
}
