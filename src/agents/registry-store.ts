import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { parseJsonOrNull } from "../platform/json.js";
import { didYouMean } from "../platform/text.js";
import type { Db } from "../store/open-store.js";
import { type Agent, type AttachedTool, agentSettingsSchema, type StoredAgent } from "../tools/tool.js";

/** How many runs used a version of an agent. */
export function countRunsOfVersion(db: Db, agentId: string, version: number): number {
  return db
    .prepare("SELECT count(*) FROM runs WHERE agent_id = ? AND settings ->> '$.agentVersion' = ?")
    .pluck()
    .get(agentId, version) as number;
}

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

interface VersionRow {
  version: number;
  snapshot: string;
  createdAt: string;
}

const SELECT = "SELECT version, snapshot, created_at AS createdAt FROM agent_versions WHERE agent_id = ?";

/** Newest first; also those of an agent that has been deleted. */
export function listVersions(db: Db, agentId: string): AgentVersion[] {
  return (db.prepare(`${SELECT} ORDER BY version DESC`).all(agentId) as VersionRow[]).map(toVersion);
}

export function getVersion(db: Db, agentId: string, version: number): AgentVersion {
  const row = db.prepare(`${SELECT} AND version = ?`).get(agentId, version) as VersionRow | undefined;
  if (row !== undefined) return toVersion(row);
  throw new UserError(
    "version_unknown",
    `Agent "${agentId}" has no version ${version}.`,
    `${commandLine`art-e agents versions ${agentId}`} lists them.`,
  );
}

/** The newest version if it equals `snapshot`, otherwise the next number, which is not saved yet. */
export function matchVersion(db: Db, snapshot: AgentSnapshot): { readonly version: number; readonly isNew: boolean } {
  const last = db.prepare(`${SELECT} ORDER BY version DESC LIMIT 1`).get(snapshot.agent.id) as VersionRow | undefined;
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

function toVersion({ version, snapshot, createdAt }: VersionRow): AgentVersion {
  return { version, createdAt, ...(JSON.parse(snapshot) as AgentSnapshot) };
}

interface AgentRow extends Omit<StoredAgent, "settings" | "builtin"> {
  settings: string;
  builtin: number;
}

const COLUMNS =
  "id, name, description, prompt, model, settings, builtin, created_at AS createdAt, updated_at AS updatedAt";

export function listAgents(db: Db): StoredAgent[] {
  return (db.prepare(`SELECT ${COLUMNS} FROM agents ORDER BY id`).all() as AgentRow[]).map(toAgent);
}

export function listAgentIds(db: Db): string[] {
  return db.prepare("SELECT id FROM agents ORDER BY id").pluck().all() as string[];
}

export function findAgent(db: Db, id: string): StoredAgent | null {
  const row = db.prepare(`SELECT ${COLUMNS} FROM agents WHERE id = ?`).get(id) as AgentRow | undefined;
  return row === undefined ? null : toAgent(row);
}

export function getAgent(db: Db, id: string): StoredAgent {
  const agent = findAgent(db, id);
  if (agent !== null) return agent;
  const known = listAgentIds(db);
  throw new UserError(
    "agent_unknown",
    `There is no agent "${id}".`,
    `${didYouMean(id, known)}The agents are: ${known.join(", ")} (${commandLine`art-e agents list`}).`,
  );
}

/** Inserts or updates an agent's row. */
export function saveAgent(db: Db, agent: Agent): void {
  const { id, name, description, prompt, model, settings } = agent;
  db.prepare(
    `INSERT INTO agents (id, name, description, prompt, model, settings)
     VALUES (@id, @name, @description, @prompt, @model, @settings)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, prompt = excluded.prompt,
       model = excluded.model, settings = excluded.settings, updated_at = CURRENT_TIMESTAMP`,
  ).run({ id, name, description, prompt, model, settings: JSON.stringify(settings) });
}

export function removeAgent(db: Db, id: string): void {
  db.prepare("DELETE FROM agents WHERE id = ?").run(id);
}

/** Replaces an agent's tools, in this order; `config` is JSON text. */
export function saveAgentTools(
  db: Db,
  agentId: string,
  tools: readonly { readonly id: string; readonly config: string | null }[],
): void {
  db.prepare("DELETE FROM agent_tools WHERE agent_id = ?").run(agentId);
  const add = db.prepare("INSERT INTO agent_tools (agent_id, tool_id, config) VALUES (?, ?, ?)");
  for (const { id, config } of tools) add.run(agentId, id, config);
  db.prepare("UPDATE agents SET updated_at = CURRENT_TIMESTAMP WHERE id = ?").run(agentId);
}

function toAgent({ builtin, ...row }: AgentRow): StoredAgent {
  const settings = agentSettingsSchema.safeParse(parseJsonOrNull(row.settings));
  if (settings.success) return { ...row, builtin: builtin === 1, settings: settings.data };
  const [issue] = settings.error.issues;
  throw new UserError(
    "agent_settings",
    `The settings of agent "${row.id}" cannot be used: ${[issue?.path.join("."), issue?.message].filter(Boolean).join(": ")}.`,
    "They are the column settings of its row in the table agents: one JSON object.",
  );
}
