import { existsSync } from "node:fs";
import { type Db, withReadOnly } from "../../store/connection/open-store.js";
import { listAgentIds } from "../../store/registry/agent-rows.js";
import { newestRunIds } from "../../store/runs/list-runs.js";

/** How many runs a shell offers. */
const OFFERED_RUNS = 50;

export const knownAgentIds = (path: string) => read(path, listAgentIds);

export const knownRunIds = (path: string) => read(path, (db) => ["latest", ...newestRunIds(db, OFFERED_RUNS)]);

/** Nothing where there is no database, or one that cannot be read: a shell shows no errors while a word is typed. */
function read(path: string, ids: (db: Db) => string[]): string[] {
  if (!existsSync(path)) return [];
  try {
    return withReadOnly(path, ids);
  } catch {
    return [];
  }
}
