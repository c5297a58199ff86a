import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** Opens an in-memory database that reads files with SQL. */
export async function openDuckdb(): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:");
  return instance.connect();
}

/** Returns the rows of a query, with dates, lists and large numbers in their JSON form. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Record<string, unknown>[]> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowObjectsJson();
}
