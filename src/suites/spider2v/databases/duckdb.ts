import { CannotGrade } from "../../evaluation/cannot-grade.js";
import type { DatabaseReader, DatabaseValue } from "./open-database.js";

/** Queries are stopped after this. */
const TIMEOUT_MS = 60_000;

/**
 * A file of DuckDB. The library is 68 MB and optional, so it is loaded only here. A database may define views over
 * other files and addresses: these cannot be read.
 */
export async function openDuckdb(path: string): Promise<DatabaseReader> {
  const { DuckDBInstance } = await loadDuckdb();
  const instance = await DuckDBInstance.create(path, {
    access_mode: "READ_ONLY",
    enable_external_access: "false",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    memory_limit: "1GB",
    threads: "1",
  });
  const connection = await instance.connect();
  return {
    query: async (sql, limit) => {
      const timer = setTimeout(() => connection.interrupt(), TIMEOUT_MS);
      try {
        const reader = await connection.streamAndReadUntil(sql, limit);
        return reader.getRows() as readonly (readonly DatabaseValue[])[];
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function loadDuckdb() {
  try {
    return await import("@duckdb/node-api");
  } catch {
    throw new CannotGrade(
      "unsupported",
      "it compares DuckDB files, and @duckdb/node-api is not installed (npm install @duckdb/node-api)",
    );
  }
}
