import { DuckDBInstance } from "@duckdb/node-api";
import { Database } from "../../src/store/sqlite.js";

/** Creates a SQLite or DuckDB file with these statements. */
export async function writeDatabase(
  path: string,
  type: "sqlite" | "duckdb",
  statements: readonly string[],
): Promise<void> {
  if (type === "sqlite") {
    const database = new Database(path);
    for (const sql of statements) database.exec(sql);
    database.close();
    return;
  }
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
