// Reads agents and their versions from the database. `registry` changes them.
import { existsSync } from "node:fs";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { firstIssue, parseJsonOrNull } from "../platform/json.js";
import { didYouMean } from "../platform/near-names.js";
import { presentProperties } from "../platform/optional-values.js";
import { DamagedRowError, jsonSql, mapReadable, parseColumn } from "../store/damaged-row.js";
import { type Db, openStore } from "../store/open-store.js";
import { type AttachedTool, attachedOrDefault, type ToolRow } from "../tools/tools-store.js";
import { getRun } from "../traces/runs-store.js";
import { type Agent, agentSettingsSchema, type StoredAgent } from "./agent.js";

/** An agent with its complete tools, so that it can run again after the agent or a tool has changed. */
interface VersionedAgent {
  readonly agent: Agent;
  readonly tools: readonly AttachedTool[];
}

export interface AgentVersion extends VersionedAgent {
  readonly version: number;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
}

interface VersionRow {
  version: number;
  snapshot: string;
  createdAt: string;
}

interface AgentRow extends Omit<StoredAgent, "settings" | "builtin"> {
  settings: string;
  builtin: number;
}

/** The times are absent for an agent of a run, or of an earlier version. */
export interface AgentDescription extends Agent, Partial<Pick<StoredAgent, "createdAt" | "updatedAt">> {
  readonly version: number;
  readonly builtin?: boolean;
  readonly tools: readonly { readonly id: string; readonly config: string | null }[];
}

/**
 * Reads the registry. If the database does not exist, uses an in-memory one with the agents and tools of a new
 * database.
 */
export async function readRegistry<T>(settings: AppSettings, read: (db: Db) => T | Promise<T>): Promise<T> {
  const db = existsSync(settings.db)
    ? openStore(settings.db, { mustExist: true })
    : openStore(":memory:", { mustExist: false });
  return useAndClose(db, read);
}

/** Changes the registry. Creates the database if it does not exist. */
export async function changeRegistry<T>(settings: AppSettings, change: (db: Db) => T | Promise<T>): Promise<T> {
  return useAndClose(openStore(settings.db, { mustExist: false }), change);
}

async function useAndClose<T>(db: Db, use: (db: Db) => T | Promise<T>): Promise<T> {
  try {
    return await use(db);
  } finally {
    db.close();
  }
}

function countRunsOfVersion(db: Db, agentId: string, version: number): number {
  return db
    .prepare(`SELECT count(*) FROM runs WHERE agent_id = ? AND ${jsonSql("settings")} ->> '$.agentVersion' = ?`)
    .pluck()
    .get(agentId, version) as number;
}

const SELECT = "SELECT version, snapshot, created_at AS createdAt FROM agent_versions WHERE agent_id = ?";

/** Returns an agent's versions, newest first. Also works for a deleted agent. */
export function listVersions(db: Db, agentId: string): AgentVersion[] {
  const rows = db.prepare(`${SELECT} ORDER BY version DESC`).all(agentId) as VersionRow[];
  return mapReadable(rows, (row) => toVersion(agentId, row));
}

export function getVersion(db: Db, agentId: string, version: number): AgentVersion {
  const row = db.prepare(`${SELECT} AND version = ?`).get(agentId, version) as VersionRow | undefined;
  if (row !== undefined) return toVersion(agentId, row);
  throw new UserError(
    "version_unknown",
    `Agent "${agentId}" does not have a version ${version}.`,
    `${commandLine`art-e agents versions ${agentId}`} lists them.`,
  );
}

/** Returns the newest version if it equals `now`, otherwise the next version number, which has not been saved yet. */
function matchVersion(db: Db, now: VersionedAgent): { readonly version: number; readonly isNew: boolean } {
  const last = db.prepare(`${SELECT} ORDER BY version DESC LIMIT 1`).get(now.agent.id) as VersionRow | undefined;
  if (last === undefined) return { version: 1, isNew: true };
  return last.snapshot === canonicalJson(now)
    ? { version: last.version, isNew: false }
    : { version: last.version + 1, isNew: true };
}

/** Serializes fixed fields in a fixed order, so that equal agents produce equal text. */
function canonicalJson({ agent, tools }: VersionedAgent): string {
  const { id, name, description, prompt, model, settings } = agent;
  const { maxTurns, maxTokens, toolCalls, toolChoice, toolResults, temperature, reasoningTokens, reasoningEffort } =
    settings;
  return JSON.stringify({
    agent: {
      id,
      name,
      description,
      prompt,
      model,
      settings: {
        maxTurns,
        maxTokens,
        toolCalls,
        toolChoice,
        toolResults,
        temperature,
        reasoningTokens,
        reasoningEffort,
      },
    },
    tools: tools.map(({ tool, config }) => ({ tool: toolDefinition(tool), config })),
  });
}

/** Returns the fields that define a tool, in a fixed order. */
export function toolDefinition(tool: ToolRow): ToolRow {
  const { id, name, description, parametersSchema, handlerKey, handlerConfig, category } = tool;
  return { id, name, description, parametersSchema, handlerKey, handlerConfig, category };
}

function toVersion(agentId: string, { version, snapshot, createdAt }: VersionRow): AgentVersion {
  const place = { table: "agent_versions", row: `${agentId}/${version}`, column: "snapshot" };
  return { version, createdAt, ...parseColumn<VersionedAgent>(snapshot, { agent: "object", tools: "array" }, place) };
}

const COLUMNS =
  "id, name, description, prompt, model, settings, builtin, created_at AS createdAt, updated_at AS updatedAt";

export function listAgents(db: Db): StoredAgent[] {
  return mapReadable(db.prepare(`SELECT ${COLUMNS} FROM agents ORDER BY id`).all() as AgentRow[], toAgent);
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
  const ids = listAgentIds(db);
  throw new UserError(
    "agent_unknown",
    `Unknown agent "${id}".`,
    `${didYouMean(id, ids)}Available: ${ids.join(", ")} (${commandLine`art-e agents list`}).`,
  );
}

function toAgent({ builtin, ...row }: AgentRow): StoredAgent {
  const settings = agentSettingsSchema.safeParse(parseJsonOrNull(row.settings));
  if (settings.success) return { ...row, builtin: builtin === 1, settings: settings.data };
  throw new DamagedRowError(
    { table: "agents", row: row.id, column: "settings" },
    firstIssue(settings.error, "the settings"),
  );
}

/** Returns every agent with the ids and configs of its tools. */
export function describeAgents(db: Db) {
  return listAgents(db).map((agent) => ({ ...agent, tools: toolIds(attachedOrDefault(db, agent.id)) }));
}

/** Describes an agent. `ID` is the current agent, and `ID@VERSION` is a stored version. */
export function describeAgent(db: Db, name: string): AgentDescription {
  const [id = "", version] = name.split("@");
  if (version === undefined) {
    return { ...getAgent(db, id), version: currentVersion(db, id), tools: toolIds(attachedOrDefault(db, id)) };
  }
  if (!/^[1-9]\d{0,8}$/.test(version)) {
    throw new UserError(
      "version_unknown",
      `"${name}" is not an agent version.`,
      `${commandLine`art-e agents versions ${id}`} lists them.`,
    );
  }
  const stored = getVersion(db, id, Number(version));
  return { ...stored.agent, version: stored.version, tools: fullTools(stored.tools) };
}

/** Returns a run's agent: the version that the run used, with the settings changed by the run's flags. */
export function describeAgentOfRun(db: Db, runName: string): AgentDescription {
  const { id, settings } = getRun(db, runName);
  if (settings.kind === "external") {
    throw new UserError(
      "agent_external",
      `The agent of run ${id} is external (${settings.externalAgent.kind}), not in the registry.`,
      "Its prompt and tools are unknown. The run's settings in a results file contain its URL or command.",
    );
  }
  const { agentId, agentVersion = 0, model, maxTurns } = settings;
  const { agent, tools } = getVersion(db, agentId, agentVersion);
  const description = { ...agent, model, version: agentVersion, tools: fullTools(tools) };
  // The settings of the model calls are known only for art-e's own runs.
  if (settings.kind !== "own") return { ...description, settings: { ...agent.settings, maxTurns } };
  const { prompt, maxTokens, reasoningTokens, reasoningEffort, temperature, toolCalls, toolChoice, toolResults } =
    settings;
  const optional = { ...presentProperties({ temperature }), reasoningTokens, reasoningEffort, toolResults };
  return {
    ...description,
    prompt,
    settings: agentSettingsSchema.parse({ maxTurns, maxTokens, toolCalls, toolChoice, ...optional }),
  };
}

/**
 * Returns an agent's versions, newest first, even if the agent has been deleted. Empty before its first change or run.
 */
export function describeVersions(db: Db, agentId: string) {
  const versions = listVersions(db, agentId);
  // Throws for an agent that never existed.
  if (versions.length === 0) getAgent(db, agentId);
  return versions.map(({ version, createdAt, agent, tools }) => ({
    version,
    createdAt,
    model: agent.model,
    tools: tools.map(({ tool }) => tool.id),
    runs: countRunsOfVersion(db, agentId, version),
  }));
}

function toolIds(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ id: tool.id, config }));
}

function fullTools(attached: readonly AttachedTool[]) {
  return attached.map(({ tool, config }) => ({ ...tool, config }));
}

/** Returns the current agent with the full rows of its tools. */
export function versionedAgent(db: Db, agentId: string): VersionedAgent {
  return { agent: getAgent(db, agentId), tools: attachedOrDefault(db, agentId) };
}

/** Returns the current agent's version number. The version is stored when the agent is changed or run. */
export function currentVersion(db: Db, agentId: string): number {
  return matchVersion(db, versionedAgent(db, agentId)).version;
}

export function nameVersion(db: Db, id: string): { readonly id: string; readonly version: number } {
  return { id, version: currentVersion(db, id) };
}

/** Stores the current agent as a version unless it equals the newest version. Returns the version number. */
export function saveCurrentVersion(db: Db, agentId: string): number {
  const now = versionedAgent(db, agentId);
  const save = db.transaction(() => {
    const { version, isNew } = matchVersion(db, now);
    if (isNew) {
      db.prepare("INSERT INTO agent_versions (agent_id, version, snapshot) VALUES (?, ?, ?)").run(
        agentId,
        version,
        canonicalJson(now),
      );
    }
    return version;
  });
  // Immediate, because two runs that start together would otherwise choose the same number.
  return save.immediate();
}
