import { z } from "zod";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { commandLine, didYouMean } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { JsonObject, JsonSchema, JsonValue } from "../platform/json.js";
import type { TaskMachine } from "../sandbox/task-machine.js";
import type { Workspace } from "../sandbox/workspace.js";
import { mapReadable, parseColumn } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { TaskDocuments, TaskOracle } from "../tasks/suite-task.js";

interface RawToolRow extends Omit<StoredTool, "parametersSchema" | "handlerConfig" | "builtin"> {
  parametersSchema: string;
  handlerConfig: string;
  builtin: number;
}

const COLUMNS = `t.id, t.name, t.description, t.parameters_schema AS parametersSchema, t.handler_key AS handlerKey,
  t.handler_config AS handlerConfig, t.category, t.builtin, t.created_at AS createdAt, t.updated_at AS updatedAt`;

export function listTools(db: Db, category: string | null = null): StoredTool[] {
  const rows = db
    .prepare(`SELECT ${COLUMNS} FROM tools t WHERE @category IS NULL OR category = @category ORDER BY category, id`)
    .all({ category }) as RawToolRow[];
  return mapReadable(rows, toTool);
}

export function findTool(db: Db, id: string): StoredTool | null {
  const row = db.prepare(`SELECT ${COLUMNS} FROM tools t WHERE id = ?`).get(id) as RawToolRow | undefined;
  return row === undefined ? null : toTool(row);
}

export function getTool(db: Db, id: string): StoredTool {
  const tool = findTool(db, id);
  if (tool !== null) return tool;
  const known = db.prepare("SELECT id FROM tools ORDER BY id").pluck().all() as string[];
  throw new UserError(
    "tool_unknown",
    `Unknown tool "${id}".`,
    `${didYouMean(id, known)}Available: ${known.join(", ")} (${commandLine`art-e tools list`}).`,
  );
}

export interface AttachedTool {
  readonly tool: ToolRow;
  readonly config: string | null;
}

/** Returns the tools attached to an agent, in their order. Empty if the agent uses the default tools. */
export function listAttachedTools(db: Db, agentId: string): AttachedTool[] {
  const rows = db
    .prepare(
      `SELECT ${COLUMNS}, a.config FROM agent_tools a JOIN tools t ON t.id = a.tool_id WHERE a.agent_id = ? ORDER BY a.rowid`,
    )
    .all(agentId) as (RawToolRow & { config: string | null })[];
  return rows.map(({ config, ...row }) => {
    if (config !== null)
      parseColumn(config, {}, { table: "agent_tools", row: `${agentId}/${row.id}`, column: "config" });
    return { tool: toTool(row), config };
  });
}

export function saveTool(db: Db, tool: ToolRow): void {
  db.prepare(
    `INSERT INTO tools (id, name, description, parameters_schema, handler_key, handler_config, category)
     VALUES (@id, @name, @description, @parametersSchema, @handlerKey, @handlerConfig, @category)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description,
       parameters_schema = excluded.parameters_schema, handler_key = excluded.handler_key,
       handler_config = excluded.handler_config, category = excluded.category, updated_at = CURRENT_TIMESTAMP`,
  ).run({
    ...tool,
    parametersSchema: JSON.stringify(tool.parametersSchema),
    handlerConfig: JSON.stringify(tool.handlerConfig),
  });
}

export function removeTool(db: Db, id: string): void {
  db.prepare("DELETE FROM tools WHERE id = ?").run(id);
}

export function listAgentsWithTool(db: Db, toolId: string): { readonly id: string; readonly config: string | null }[] {
  return db
    .prepare("SELECT agent_id AS id, config FROM agent_tools WHERE tool_id = ? ORDER BY agent_id")
    .all(toolId) as { id: string; config: string | null }[];
}

/** Parses the JSON columns. Errors name the tool and the column. */
function toTool({ builtin, ...row }: RawToolRow): StoredTool {
  return {
    ...row,
    builtin: builtin === 1,
    parametersSchema: readObject(row.id, "parameters_schema", row.parametersSchema),
    handlerConfig: readObject(row.id, "handler_config", row.handlerConfig),
  };
}

function readObject(id: string, column: string, text: string): JsonObject {
  return parseColumn(text, {}, { table: "tools", row: id, column });
}

/** Id of an agent or tool. Providers receive a tool's id as its name, and all of them accept this format. */
export const registryIdSchema = z
  .string("expected a string")
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, - or _");

/** Agent settings, stored as JSON in the agent's row. */
export const agentSettingsSchema = z.strictObject({
  /** Maximum model calls. After that, the task ends as out_of_turns. */
  maxTurns: z.number().int().min(1).max(1000).default(10),
  /** Maximum tokens per reply, excluding reasoning. */
  maxTokens: z.number().int().min(1).default(2048),
  /** Reasoning tokens in addition to `maxTokens`. The default depends on the model. */
  reasoningTokens: z.number().int().min(0).optional(),
  /** `first` executes only the first tool call of a reply, like ART. `all` executes every call. */
  toolCalls: z.enum(["all", "first"]).default("all"),
  /** `required` forces the model to call a tool in every turn, like ART. */
  toolChoice: z.enum(["auto", "required"]).default("auto"),
  temperature: z.number().min(0).max(2).optional(),
  /** The default is the model's own. */
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
});

export type AgentSettings = z.output<typeof agentSettingsSchema>;

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Prompt template with `{{name}}` placeholders for task variables. */
  readonly prompt: string;
  /** `provider/name`, or null for the run's model. */
  readonly model: string | null;
  readonly settings: AgentSettings;
}

export interface StoredAgent extends Agent {
  /** Built-in agents can be cloned but not changed. */
  readonly builtin: boolean;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ToolRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly parametersSchema: JsonSchema;
  readonly handlerKey: string;
  /**
   * Handler settings, such as an address, a program or a server. Secrets are stored only as `${ENV:NAME}` references.
   */
  readonly handlerConfig: JsonObject;
  readonly category: string;
}

export interface StoredTool extends ToolRow {
  readonly builtin: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ToolContext {
  /**
   * The task's mailbox, or null outside a task. Calls for any other mailbox are rejected. If it is null, a call can
   * specify any mailbox.
   */
  readonly inbox: string | null;
  /** ISO 8601 in UTC, or null for no cutoff. Mail dated at or after it does not exist for the agent. */
  readonly cutoff: string | null;
  readonly signal: AbortSignal;
  /** The task's files. Without a workspace, file tools return an error. */
  readonly workspace?: Workspace;
  /** The suite task's machine. If present, the file and Python tools work in it. */
  readonly machine?: TaskMachine;
  readonly documents?: TaskDocuments;
  /** Present if the run checks a suite with its oracle file. */
  readonly oracle?: TaskOracle;
}

/**
 * The result of a call. An error describes the mistake and how to correct it. `json` is the value as text, if it has
 * already been serialized. `final` ends the agent loop with this answer.
 */
export type ToolResult = (
  | { readonly ok: true; readonly value: JsonValue; readonly json?: string; readonly final?: FinalAnswer }
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

/** Default tools for an agent without rows in agent_tools. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;

export function attachedOrDefault(db: Db, agentId: string): AttachedTool[] {
  const attached = listAttachedTools(db, agentId);
  return attached.length > 0 ? attached : DEFAULT_TOOL_IDS.map((id) => ({ tool: getTool(db, id), config: null }));
}
