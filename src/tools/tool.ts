// A callable tool, the context of a call, and its result. It does not know how tools are stored.
import type { JsonSchema, JsonValue } from "../platform/json.js";
import type { TaskMachine } from "../sandbox/task-machine.js";
import type { Workspace } from "../sandbox/workspace.js";
import type { TaskDocuments, TaskOracle } from "../tasks/suite-task.js";
import type { MailboxState } from "./mailbox-state.js";

export interface ToolContext {
  /**
   * The task's mailbox, or null outside a task. Calls for any other mailbox are rejected. If it is null, a call can
   * specify any mailbox.
   */
  readonly inbox: string | null;
  /** ISO 8601 in UTC, or null for no cutoff. Mail dated at or after it does not exist for the agent. */
  readonly cutoff: string | null;
  /** The changes of this attempt to the mailbox. Without a state, tools that change emails return an error. */
  readonly state?: MailboxState;
  /** Whether the task asks for actions, so that external agents are offered the tools for them. */
  readonly asksForActions?: boolean;
  readonly signal: AbortSignal;
  /** The task's files. Without a workspace, file tools return an error. */
  readonly workspace?: Workspace;
  /** The suite task's machine. If present, the file and Python tools work in it. */
  readonly machine?: TaskMachine;
  readonly documents?: TaskDocuments;
  /** Present if the run checks a suite with its oracle file, and in tasks that ask for actions. */
  readonly oracle?: TaskOracle;
}

/**
 * The result of a call. A value that has already been serialized is passed as JSON. An error describes the mistake and
 * how to correct it. `final` ends the agent loop with this answer.
 */
export type ToolResult = (
  | { readonly ok: true; readonly value: JsonValue; readonly final?: FinalAnswer }
  | { readonly ok: true; readonly json: string; readonly final?: never }
  | { readonly ok: false; readonly error: string; readonly kind: ToolErrorKind }
) & {
  /** Repairs made to the arguments before the call. Absent if the arguments did not change. */
  readonly repairs?: readonly string[];
};

/** Separate kinds, because ART's reward weights them differently. */
export type ToolErrorKind = "unparsable_call" | "unknown_tool" | "bad_arguments" | "invalid_email" | "failed";

interface FinalAnswer {
  readonly answer: string;
  readonly sources: readonly string[];
}

/** Port: a callable tool. `call` throws only for bugs, never for mistakes that the model made. */
export interface Tool {
  readonly id: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  call(args: JsonValue, context: ToolContext): Promise<ToolResult>;
}

type OkResult = Extract<ToolResult, { ok: true }>;

export function resultValue(result: OkResult): JsonValue {
  return "json" in result ? (JSON.parse(result.json) as JsonValue) : result.value;
}

export function resultJson(result: OkResult): string {
  return "json" in result ? result.json : JSON.stringify(result.value);
}
