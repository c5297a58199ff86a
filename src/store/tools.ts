import { z } from "zod";
import { UserError } from "../domain/errors.js";
import { type JsonSchema, jsonValueSchema } from "../domain/json.js";
import type { ToolRow } from "../domain/tool.js";
import type { Db } from "./open.js";

interface Row {
  id: string;
  name: string;
  description: string;
  parametersSchema: string;
  handlerKey: string;
  category: string;
}

const COLUMNS = "id, name, description, parameters_schema AS parametersSchema, handler_key AS handlerKey, category";

export function listTools(db: Db, category: string | null = null): ToolRow[] {
  const rows = db
    .prepare(`SELECT ${COLUMNS} FROM tools WHERE @category IS NULL OR category = @category ORDER BY category, id`)
    .all({ category }) as Row[];
  return rows.map(toToolRow);
}

export function getTool(db: Db, id: string): ToolRow {
  const row = db.prepare(`SELECT ${COLUMNS} FROM tools WHERE id = ?`).get(id) as Row | undefined;
  if (row !== undefined) return toToolRow(row);
  const known = db.prepare("SELECT id FROM tools ORDER BY id").pluck().all().join(", ");
  throw new UserError("tool_unknown", `There is no tool "${id}".`, `The tools are: ${known} (art-e tools list).`);
}

/** Reads a row's JSON Schema; a schema that is no JSON object is an error that names the tool. */
export function toToolRow(row: Row): ToolRow {
  let schema: JsonSchema;
  try {
    schema = z.record(z.string(), jsonValueSchema).parse(JSON.parse(row.parametersSchema));
  } catch (cause) {
    throw new UserError(
      "tool_schema",
      `The parameters_schema of tool "${row.id}" is not a JSON object.`,
      "It is a column of its row in the table tools: one JSON Schema of type object.",
      2,
      { cause },
    );
  }
  return { ...row, parametersSchema: schema };
}
