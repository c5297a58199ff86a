import type { Agent } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import type { Db } from "../connection/open-store.js";
import type { AttachedTool } from "./tool-rows.js";

/** An agent with its complete tools, so that it can run again after either has changed. */
export interface AgentSnapshot {
  readonly agent: Agent;
  readonly tools: readonly AttachedTool[];
}

export interface AgentVersion extends AgentSnapshot {
  readonly version: number;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
}

interface Row {
  version: number;
  snapshot: string;
  createdAt: string;
}

const SELECT = "SELECT version, snapshot, created_at AS createdAt FROM agent_versions WHERE agent_id = ?";

/** Newest first; also those of an agent that has been deleted. */
export function listVersions(db: Db, agentId: string): AgentVersion[] {
  return (db.prepare(`${SELECT} ORDER BY version DESC`).all(agentId) as Row[]).map(toVersion);
}

export function getVersion(db: Db, agentId: string, version: number): AgentVersion {
  const row = db.prepare(`${SELECT} AND version = ?`).get(agentId, version) as Row | undefined;
  if (row !== undefined) return toVersion(row);
  throw new UserError(
    "version_unknown",
    `Agent "${agentId}" has no version ${version}.`,
    `art-e agents versions ${agentId} lists them.`,
  );
}

/** The newest version if it equals `snapshot`, otherwise the next number, which is not saved yet. */
export function matchVersion(db: Db, snapshot: AgentSnapshot): { readonly version: number; readonly isNew: boolean } {
  const last = db.prepare(`${SELECT} ORDER BY version DESC LIMIT 1`).get(snapshot.agent.id) as Row | undefined;
  if (last === undefined) return { version: 1, isNew: true };
  return last.snapshot === canonicalJson(snapshot)
    ? { version: last.version, isNew: false }
    : { version: last.version + 1, isNew: true };
}

/** Saves a snapshot as the newest version unless it equals that. Returns its number. */
export function saveVersion(db: Db, snapshot: AgentSnapshot): number {
  const keep = db.transaction(() => {
    const { version, isNew } = matchVersion(db, snapshot);
    if (isNew) {
      db.prepare("INSERT INTO agent_versions (agent_id, version, snapshot) VALUES (?, ?, ?)").run(
        snapshot.agent.id,
        version,
        canonicalJson(snapshot),
      );
    }
    return version;
  });
  // Immediate: two runs that start together would both find the number free.
  return keep.immediate();
}

/** Fixed fields in a fixed order, so that equal snapshots give equal texts. */
function canonicalJson({ agent, tools }: AgentSnapshot): string {
  const { id, name, description, prompt, model, settings } = agent;
  const { maxTurns, maxTokens, toolCalls, toolChoice, temperature, reasoningTokens } = settings;
  return JSON.stringify({
    agent: {
      id,
      name,
      description,
      prompt,
      model,
      settings: { maxTurns, maxTokens, toolCalls, toolChoice, temperature, reasoningTokens },
    },
    tools: tools.map(({ tool, config }) => ({
      tool: {
        id: tool.id,
        name: tool.name,
        description: tool.description,
        parametersSchema: tool.parametersSchema,
        handlerKey: tool.handlerKey,
        handlerConfig: tool.handlerConfig,
        category: tool.category,
      },
      config,
    })),
  });
}

function toVersion({ version, snapshot, createdAt }: Row): AgentVersion {
  return { version, createdAt, ...(JSON.parse(snapshot) as AgentSnapshot) };
}
