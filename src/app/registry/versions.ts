import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { type AgentSnapshot, matchVersion, saveVersion } from "../../store/registry/agent-versions.js";
import { getAgent, listAgentIds } from "../../store/registry/agents.js";
import { attachedOrDefault } from "../../tools/load-tools.js";

/** An agent as it is now, with its tools whole. */
export function snapshotOf(db: Db, agentId: string): AgentSnapshot {
  return { agent: getAgent(db, agentId), tools: attachedOrDefault(db, agentId) };
}

/** The number that names an agent as it is now; it is kept under it when it is changed or run. */
export function currentVersion(db: Db, agentId: string): number {
  return matchVersion(db, snapshotOf(db, agentId)).version;
}

/** Keeps an agent as it is now and returns the number that names it. */
export function saveCurrentVersion(db: Db, agentId: string): number {
  return saveVersion(db, snapshotOf(db, agentId));
}

/** Makes a change, all of it or nothing, and keeps what it made of the agents that were there before and after it. */
export function withNewVersion<T>(db: Db, change: () => T): T {
  const keepAll = () => {
    for (const id of listAgentIds(db)) keepIfReadable(db, id);
  };
  const whole = db.transaction(() => {
    keepAll();
    const made = change();
    keepAll();
    return made;
  });
  return whole.immediate();
}

/** An agent whose rows were broken by hand cannot be run, and must not keep the others from being changed. */
function keepIfReadable(db: Db, agentId: string): void {
  try {
    saveCurrentVersion(db, agentId);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
}
