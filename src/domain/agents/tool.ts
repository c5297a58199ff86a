import type { JsonObject, JsonSchema, JsonValue } from "../json.js";
import type { TaskDocuments } from "../tasks/task-documents.js";
import type { TaskMachine } from "../tasks/task-machine.js";
import type { TaskOracle } from "../tasks/task-oracle.js";
import type { Workspace } from "./workspace.js";

/** A row of the `tools` table. */
export interface ToolRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly parametersSchema: JsonSchema;
  readonly handlerKey: string;
  /** What the handler needs: an address, a program, a server. Never a secret: `${ENV:NAME}` stands for one. */
  readonly handlerConfig: JsonObject;
  readonly category: string;
}

/** A tool as stored in the registry. */
export interface StoredTool extends ToolRow {
  /** Built in: can be copied, not changed. */
  readonly builtin: boolean;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a tool knows of its task. */
export interface ToolContext {
  /** The task's mailbox; a call for any other is refused. Null outside a task: any inbox may be named. */
  readonly inbox: string | null;
  /** ISO 8601 UTC; mail dated at or after it does not exist for the agent. Null: no cutoff. */
  readonly cutoff: string | null;
  readonly signal: AbortSignal;
  /** The task's files. Absent where the caller has none: tools that work with files then say so. */
  readonly workspace?: Workspace;
  /** The machine of a suite's task. Where there is one, the tools for files and Python work in it. */
  readonly machine?: TaskMachine;
  /** What `search_documents` searches. */
  readonly documents?: TaskDocuments;
  /** Of a run that checks a suite by its oracle file. */
  readonly oracle?: TaskOracle;
}

/**
 * The result of a call. An error tells the model what was wrong and what would be right; `final` ends the agent loop
 * with this answer.
 */
export type ToolResult =
  | { readonly ok: true; readonly value: JsonValue; readonly final?: FinalAnswer }
  | { readonly ok: false; readonly error: string; readonly kind: ToolErrorKind };

/** Distinguished because ART's reward weighs them differently. */
export type ToolErrorKind = "unparsable_call" | "unknown_tool" | "bad_arguments" | "invalid_email" | "failed";

export interface FinalAnswer {
  readonly answer: string;
  readonly sources: readonly string[];
}

/** Port: a callable tool. `call` throws only for bugs, never for what the model did. */
export interface Tool {
  readonly id: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  call(args: JsonValue, context: ToolContext): Promise<ToolResult>;
}
