import Database from "better-sqlite3";
import type { DatabaseReader, DatabaseValue } from "./open-database.js";

/** A file of SQLite. Whole numbers are exact. */
export function openSqlite(path: string): DatabaseReader {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  database.defaultSafeIntegers(true);
  database.pragma("trusted_schema = OFF");
  return {
    query: async (sql, limit) => {
      const rows: (readonly DatabaseValue[])[] = [];
      for (const row of database.prepare<[], DatabaseValue[]>(sql).raw().iterate()) {
        if (rows.push(row) >= limit) break;
      }
      return rows;
    },
    close: () => database.close(),
  };
}
