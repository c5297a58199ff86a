import { join } from "node:path";
import type { TableFormat } from "../../exports/tables/encode-table.js";

export const TABLES = ["tasks", "turns", "tool_calls"] as const;

export type TableName = (typeof TABLES)[number];

/** The path of a table in a folder. */
export function tablePath(folder: string, table: TableName, format: TableFormat): string {
  return join(folder, `${table}.${format}`);
}
