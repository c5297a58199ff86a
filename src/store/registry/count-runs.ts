import type { Db } from "../connection/open-store.js";

/** How many runs used a version of an agent. */
export function countRunsOfVersion(db: Db, agentId: string, version: number): number {
  return db
    .prepare("SELECT count(*) FROM runs WHERE agent_id = ? AND settings ->> '$.agentVersion' = ?")
    .pluck()
    .get(agentId, version) as number;
}
