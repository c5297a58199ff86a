import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** Opens a database in memory, which reads files by SQL. */
export async function openDuckdb(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:");
  return instance.connect();
}

/** The rows of a query, with dates, lists and large numbers as JSON has them. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Record<string, unknown>[]> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowObjectsJson();
}
