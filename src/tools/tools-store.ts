// The tables of tools and of the tools that agents have.
import { z } from "zod";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { JsonObject, JsonSchema } from "../platform/json.js";
import { didYouMean } from "../platform/near-names.js";
import { mapReadable, parseColumn } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";

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

export interface AttachedTool {
  readonly tool: ToolRow;
  readonly config: string | null;
}

/** Id of an agent or tool. Providers receive a tool's id as its name, and all of them accept this format. */
export const registryIdSchema = z
  .string("expected a string")
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, - or _");

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
  const ids = db.prepare("SELECT id FROM tools ORDER BY id").pluck().all() as string[];
  throw new UserError(
    "tool_unknown",
    `Unknown tool "${id}".`,
    `${didYouMean(id, ids)}Available: ${ids.join(", ")} (${commandLine`art-e tools list`}).`,
  );
}

/** Returns the tools attached to an agent, in their order. Empty if the agent uses the default tools. */
function listAttachedTools(db: Db, agentId: string): AttachedTool[] {
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

/** Default tools for an agent without rows in agent_tools. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;

export function attachedOrDefault(db: Db, agentId: string): AttachedTool[] {
  const attached = listAttachedTools(db, agentId);
  return attached.length > 0 ? attached : DEFAULT_TOOL_IDS.map((id) => ({ tool: getTool(db, id), config: null }));
}

export function saveTool(db: Db, tool: ToolRow): void {
  db.prepare(
    `INSERT INTO tools (id, name, description, parameters_schema, handler_key, handler_config, category)
     VALUES (@id, @name, @description, @parametersSchema, @handlerKey, @handlerConfig, @category)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description,
       parameters_schema = excluded.parameters_schema, handler_key = excluded.handler_key,
       handler_config = excluded.handler_config, category = excluded.category,
       updated_at = strftime('%Y-%m-%d %H:%M:%f', 'now')`,
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
