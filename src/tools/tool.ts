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
    `There is no tool "${id}".`,
    `${didYouMean(id, known)}The tools are: ${known.join(", ")} (${commandLine`art-e tools list`}).`,
  );
}

export interface AttachedTool {
  readonly tool: ToolRow;
  readonly config: string | null;
}

/** The tools attached to an agent, in that order; none where it uses the defaults. */
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

/** Parses the JSON columns; an error names the tool and the column. */
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

/** Ids of agents and tools. A tool's id is its name at the providers, and all of them accept this form. */
export const registryIdSchema = z
  .string("expected a text")
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, - or _");

/** Settings of an agent; stored as JSON in its row. */
export const agentSettingsSchema = z.strictObject({
  /** Model calls before the task ends as out_of_turns. */
  maxTurns: z.number().int().min(1).max(1000).default(10),
  /** Tokens of one reply, its reasoning not counted. */
  maxTokens: z.number().int().min(1).default(2048),
  /** Tokens for reasoning beside them; left out: by what the model is. */
  reasoningTokens: z.number().int().min(0).optional(),
  /** `first`: only the first tool call of a reply is made (ART); `all`: every one. */
  toolCalls: z.enum(["all", "first"]).default("all"),
  /** `required`: the model must call a tool in every turn (ART). */
  toolChoice: z.enum(["auto", "required"]).default("auto"),
  temperature: z.number().min(0).max(2).optional(),
  /** Left out: the model's default. */
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
});

export type AgentSettings = z.output<typeof agentSettingsSchema>;

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** With `{{name}}` for the variables of a task to be filled in. */
  readonly prompt: string;
  /** `provider/name`; null takes the run's model. */
  readonly model: string | null;
  readonly settings: AgentSettings;
}

export interface StoredAgent extends Agent {
  /** Built in: can be cloned, not changed. */
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
  /** What the handler needs: an address, a program, a server. Never a secret: `${ENV:NAME}` stands for one. */
  readonly handlerConfig: JsonObject;
  readonly category: string;
}

export interface StoredTool extends ToolRow {
  readonly builtin: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

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
  readonly documents?: TaskDocuments;
  /** Of a run that checks a suite by its oracle file. */
  readonly oracle?: TaskOracle;
}

/**
 * The result of a call. An error tells the model what was wrong and what would be right. `json`: the value as text,
 * where it was made already; `final` ends the agent loop with this answer.
 */
export type ToolResult = (
  | { readonly ok: true; readonly value: JsonValue; readonly json?: string; readonly final?: FinalAnswer }
  | { readonly ok: false; readonly error: string; readonly kind: ToolErrorKind }
) & {
  /** What was repaired in the arguments before the call; absent if nothing was. */
  readonly repairs?: readonly string[];
};

/** Distinguished because ART's reward weighs them differently. */
export type ToolErrorKind = "unparsable_call" | "unknown_tool" | "bad_arguments" | "invalid_email" | "failed";

interface FinalAnswer {
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

/** What an agent without rows in agent_tools gets. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;

export function attachedOrDefault(db: Db, agentId: string): AttachedTool[] {
  const attached = listAttachedTools(db, agentId);
  return attached.length > 0 ? attached : DEFAULT_TOOL_IDS.map((id) => ({ tool: getTool(db, id), config: null }));
}
