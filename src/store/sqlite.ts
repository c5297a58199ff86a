import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";

/**
 * The version that works with this Node. Version 12 crashes Node 24 when a statement is garbage-collected outside of a
 * context (`RemoveEnvironmentCleanupHook`), and version 13 does not run on Node 20.
 */
export const SQLITE_PACKAGE = Number.parseInt(process.versions.node, 10) < 22 ? "better-sqlite3" : "better-sqlite3-13";

export const Database = createRequire(import.meta.url)(SQLITE_PACKAGE) as typeof BetterSqlite3;
