import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { getAgent, listAgentIds } from "../../store/registry/agent-rows.js";
import { type AgentSnapshot, matchVersion, saveVersion } from "../../store/registry/agent-versions.js";
import { attachedOrDefault } from "../../tools/attached-tools.js";

/** An agent as it is now, with the full rows of its tools. */
export function snapshotOf(db: Db, agentId: string): AgentSnapshot {
  return { agent: getAgent(db, agentId), tools: attachedOrDefault(db, agentId) };
}

/** The version number of an agent as it is now; it is stored under it when it is changed or run. */
export function currentVersion(db: Db, agentId: string): number {
  return matchVersion(db, snapshotOf(db, agentId)).version;
}

export interface AgentVersionName {
  readonly id: string;
  readonly version: number;
}

export function nameVersion(db: Db, id: string): AgentVersionName {
  return { id, version: currentVersion(db, id) };
}

/** Stores an agent as it is now as a version, unless the newest version is the same; returns its number. */
export function saveCurrentVersion(db: Db, agentId: string): number {
  return saveVersion(db, snapshotOf(db, agentId));
}

/** Makes a change in one transaction, and stores the versions of all agents before and after it. */
export function withNewVersion<T>(db: Db, change: () => T): T {
  const saveAll = () => {
    for (const id of listAgentIds(db)) saveIfReadable(db, id);
  };
  const transaction = db.transaction(() => {
    saveAll();
    const result = change();
    saveAll();
    return result;
  });
  return transaction.immediate();
}

/** An agent with invalid rows cannot be run, and must not prevent changes of the others. */
function saveIfReadable(db: Db, agentId: string): void {
  try {
    saveCurrentVersion(db, agentId);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
}
