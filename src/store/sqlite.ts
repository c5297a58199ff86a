import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";

/**
 * The version that runs under this Node: 12 ends the process under Node 24, where a statement is collected outside of a
 * context (`RemoveEnvironmentCleanupHook`), and 13 does not run under Node 20.
 */
export const SQLITE_PACKAGE = Number.parseInt(process.versions.node, 10) < 22 ? "better-sqlite3" : "better-sqlite3-13";

export const Database = createRequire(import.meta.url)(SQLITE_PACKAGE) as typeof BetterSqlite3;
