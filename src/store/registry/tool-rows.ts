import type { StoredTool, ToolRow } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import { type JsonObject, jsonObjectSchema } from "../../domain/json.js";
import { didYouMean } from "../../platform/nearest-names.js";
import type { Db } from "../connection/open-store.js";

interface Row extends Omit<StoredTool, "parametersSchema" | "handlerConfig" | "builtin"> {
  parametersSchema: string;
  handlerConfig: string;
  builtin: number;
}

const COLUMNS = `t.id, t.name, t.description, t.parameters_schema AS parametersSchema, t.handler_key AS handlerKey,
  t.handler_config AS handlerConfig, t.category, t.builtin, t.created_at AS createdAt, t.updated_at AS updatedAt`;

export function listTools(db: Db, category: string | null = null): StoredTool[] {
  const rows = db
    .prepare(`SELECT ${COLUMNS} FROM tools t WHERE @category IS NULL OR category = @category ORDER BY category, id`)
    .all({ category }) as Row[];
  return rows.map(toTool);
}

export function findTool(db: Db, id: string): StoredTool | null {
  const row = db.prepare(`SELECT ${COLUMNS} FROM tools t WHERE id = ?`).get(id) as Row | undefined;
  return row === undefined ? null : toTool(row);
}

export function getTool(db: Db, id: string): StoredTool {
  const tool = findTool(db, id);
  if (tool !== null) return tool;
  const known = db.prepare("SELECT id FROM tools ORDER BY id").pluck().all() as string[];
  throw new UserError(
    "tool_unknown",
    `There is no tool "${id}".`,
    `${didYouMean(id, known)}The tools are: ${known.join(", ")} (art-e tools list).`,
  );
}

/** A tool's row and the agent's configuration of it, as JSON text. */
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
    .all(agentId) as (Row & { config: string | null })[];
  return rows.map(({ config, ...row }) => ({ tool: toTool(row), config }));
}

/** Inserts or updates a tool's row. */
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

/** The agents with a tool attached, and their configurations of it. */
export function listAgentsWithTool(db: Db, toolId: string): { readonly id: string; readonly config: string | null }[] {
  return db
    .prepare("SELECT agent_id AS id, config FROM agent_tools WHERE tool_id = ? ORDER BY agent_id")
    .all(toolId) as { id: string; config: string | null }[];
}

/** Parses the JSON columns; an error names the tool and the column. */
function toTool({ builtin, ...row }: Omit<Row, "builtin"> & { builtin: number }): StoredTool {
  return {
    ...row,
    builtin: builtin === 1,
    parametersSchema: readObject(
      row.id,
      "parameters_schema",
      row.parametersSchema,
      "tool_schema",
      "one JSON Schema of type object",
    ),
    handlerConfig: readObject(row.id, "handler_config", row.handlerConfig, "tool_config", "one JSON object"),
  };
}

function readObject(id: string, column: string, text: string, code: string, what: string): JsonObject {
  try {
    return jsonObjectSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new UserError(
      code,
      `The ${column} of tool "${id}" is not a JSON object.`,
      `It is a column of its row in the table tools: ${what}.`,
      2,
      { cause },
    );
  }
}
