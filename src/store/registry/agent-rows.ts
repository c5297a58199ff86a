import { type Agent, agentSettingsSchema, type StoredAgent } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import { didYouMean } from "../../platform/nearest-names.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import type { Db } from "../connection/open-store.js";

interface Row extends Omit<StoredAgent, "settings" | "builtin"> {
  settings: string;
  builtin: number;
}

const COLUMNS =
  "id, name, description, prompt, model, settings, builtin, created_at AS createdAt, updated_at AS updatedAt";

export function listAgents(db: Db): StoredAgent[] {
  return (db.prepare(`SELECT ${COLUMNS} FROM agents ORDER BY id`).all() as Row[]).map(toAgent);
}

export function listAgentIds(db: Db): string[] {
  return db.prepare("SELECT id FROM agents ORDER BY id").pluck().all() as string[];
}

export function findAgent(db: Db, id: string): StoredAgent | null {
  const row = db.prepare(`SELECT ${COLUMNS} FROM agents WHERE id = ?`).get(id) as Row | undefined;
  return row === undefined ? null : toAgent(row);
}

export function getAgent(db: Db, id: string): StoredAgent {
  const agent = findAgent(db, id);
  if (agent !== null) return agent;
  const known = listAgentIds(db);
  throw new UserError(
    "agent_unknown",
    `There is no agent "${id}".`,
    `${didYouMean(id, known)}The agents are: ${known.join(", ")} (art-e agents list).`,
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

function toAgent({ builtin, ...row }: Row): StoredAgent {
  const settings = agentSettingsSchema.safeParse(parseJsonOrNull(row.settings));
  if (settings.success) return { ...row, builtin: builtin === 1, settings: settings.data };
  const [issue] = settings.error.issues;
  throw new UserError(
    "agent_settings",
    `The settings of agent "${row.id}" cannot be used: ${[issue?.path.join("."), issue?.message].filter(Boolean).join(": ")}.`,
    "They are the column settings of its row in the table agents: one JSON object.",
  );
}
