import { type Agent, agentSettingsSchema } from "../domain/agent.js";
import { UserError } from "../domain/errors.js";
import type { ToolRow } from "../domain/tool.js";
import type { Db } from "./open.js";
import { toToolRow } from "./tools.js";

/** A tool as one agent has it: its row, and the agent's own configuration of it as unread JSON text. */
export interface AttachedTool {
  readonly tool: ToolRow;
  readonly config: string | null;
}

interface Row {
  id: string;
  name: string;
  description: string;
  prompt: string;
  model: string | null;
  settings: string;
}

const COLUMNS = "id, name, description, prompt, model, settings";

export function listAgents(db: Db): Agent[] {
  return (db.prepare(`SELECT ${COLUMNS} FROM agents ORDER BY id`).all() as Row[]).map(toAgent);
}

export function getAgent(db: Db, id: string): Agent {
  const row = db.prepare(`SELECT ${COLUMNS} FROM agents WHERE id = ?`).get(id) as Row | undefined;
  if (row !== undefined) return toAgent(row);
  const known = db.prepare("SELECT id FROM agents ORDER BY id").pluck().all().join(", ");
  throw new UserError("agent_unknown", `There is no agent "${id}".`, `The agents are: ${known} (art-e agents list).`);
}

/** The tools attached to an agent, by id; none for an agent that takes the defaults. */
export function listAttachedTools(db: Db, agentId: string): AttachedTool[] {
  const rows = db
    .prepare(
      `SELECT t.id, t.name, t.description, t.parameters_schema AS parametersSchema, t.handler_key AS handlerKey,
              t.category, a.config
       FROM agent_tools a JOIN tools t ON t.id = a.tool_id WHERE a.agent_id = ? ORDER BY a.rowid`,
    )
    .all(agentId) as (Parameters<typeof toToolRow>[0] & { config: string | null })[];
  return rows.map(({ config, ...row }) => ({ tool: toToolRow(row), config }));
}

function toAgent(row: Row): Agent {
  const settings = agentSettingsSchema.safeParse(parseJson(row.settings));
  if (settings.success) return { ...row, settings: settings.data };
  const [issue] = settings.error.issues;
  throw new UserError(
    "agent_settings",
    `The settings of agent "${row.id}" cannot be used: ${[issue?.path.join("."), issue?.message].filter(Boolean).join(": ")}.`,
    "They are the column settings of its row in the table agents: one JSON object.",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
