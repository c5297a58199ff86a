// Process that answers one SQL query over tables that it receives on stdin, and prints the answer as JSON.
import { json } from "node:stream/consumers";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import type { Db } from "../../store/open-store.js";
import { Database } from "../../store/sqlite.js";
import type { QueryAnswer, QueryOrder } from "./query-tables.js";

function answer({ tables, sql, maxRows }: QueryOrder): QueryAnswer {
  const db = new Database(":memory:");
  for (const [name, rows] of Object.entries(tables)) insertRows(db, name, rows);
  // A statement that only reads. ATTACH, which would reach other files, is not one.
  const statement = db.prepare(sql);
  if (!statement.reader || !statement.readonly) throw new Error("only statements that return rows can be used");
  const rows: unknown[] = [];
  for (const row of statement.iterate()) {
    if (rows.length === maxRows) return { rows, more: true };
    rows.push(row);
  }
  return { rows, more: false };
}

function insertRows(db: Db, name: string, rows: readonly JsonObject[]): void {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  // A table needs a column, even without rows.
  const named = columns.length === 0 ? ["traceId"] : columns;
  db.exec(`CREATE TABLE ${name} (${named.map((column) => `"${column.replaceAll('"', '""')}"`).join(", ")})`);
  const insert = db.prepare(`INSERT INTO ${name} VALUES (${named.map(() => "?").join(", ")})`);
  for (const row of rows) insert.run(named.map((column) => toSql(row[column] ?? null)));
}

function toSql(value: JsonValue): string | number | null {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

let printed: QueryAnswer | { readonly failure: string };
try {
  printed = answer((await json(process.stdin)) as QueryOrder);
} catch (error) {
  printed = { failure: (error as Error).message };
}
process.stdout.write(JSON.stringify(printed));
