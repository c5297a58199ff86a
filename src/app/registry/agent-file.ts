import type { StoredAgent } from "../../domain/agents/agent.js";
import type { ToolRow } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";
import type { Db } from "../../store/connection/open-store.js";
import { findAgent, getAgent } from "../../store/registry/agent-rows.js";
import { findTool, getTool } from "../../store/registry/tool-rows.js";
import { type AgentFile, fromYaml, toYaml } from "./agent-yaml.js";
import { createAgent, setTools, updateAgent } from "./edit-agents.js";
import { createTool, type NewTool, updateTool } from "./edit-tools.js";
import { snapshotOf, withNewVersion } from "./versions.js";

/** An agent as YAML, with the definitions of its tools that are not built in. */
export function exportAgent(db: Db, id: string): string {
  const { agent, tools } = snapshotOf(db, id);
  const { name, description, model, settings, prompt } = agent;
  return toYaml({
    id,
    name,
    description,
    model,
    settings,
    prompt,
    tools: tools.map(({ tool, config }) => ({
      id: tool.id,
      ...(config === null ? {} : { config: jsonObjectSchema.parse(JSON.parse(config)) }),
      ...(getTool(db, tool.id).builtin ? {} : { definition: definitionOf(tool) }),
    })),
  });
}

/**
 * Creates the agent of a YAML file and the tools defined in it; all of it or nothing. An agent or a different tool of
 * the same id is an error, unless `replace`.
 */
export function importAgent(db: Db, text: string, path: string, replace: boolean): StoredAgent {
  const file = fromYaml(text, path);
  return withNewVersion(db, () => {
    for (const tool of file.tools) if (tool.definition !== undefined) importTool(db, tool.id, tool.definition, replace);
    const tools = file.tools.map(({ id, config = null }) => ({ id, config }));
    const { id, name, description, model, settings, prompt } = file;
    if (findAgent(db, id) === null) return createAgent(db, { id, name, description, model, settings, prompt, tools });
    if (!replace) throw alreadyExists("agent", id);
    const unset = { temperature: null, reasoningTokens: null };
    updateAgent(db, id, { name, description, model, settings: { ...unset, ...settings }, prompt });
    setTools(db, id, tools);
    return getAgent(db, id);
  });
}

type Definition = NonNullable<AgentFile["tools"][number]["definition"]>;

function definitionOf({
  name,
  description,
  category,
  handlerKey,
  handlerConfig,
  parametersSchema,
}: ToolRow): Definition {
  return { name, description, category, handler: handlerKey, config: handlerConfig, parameters: parametersSchema };
}

function importTool(db: Db, id: string, definition: Definition, replace: boolean): void {
  const { name, description, category, handler, config: handlerConfig = {}, parameters: parametersSchema } = definition;
  const tool: NewTool = { id, name, description, category, handlerKey: handler, handlerConfig, parametersSchema };
  const known = findTool(db, id);
  if (known === null) {
    createTool(db, tool);
    return;
  }
  if (JSON.stringify(definitionOf(known)) === JSON.stringify({ ...definition, config: handlerConfig })) return;
  if (!replace || known.handlerKey !== handler) throw alreadyExists("tool", id);
  updateTool(db, id, { name, description, category, handlerConfig, parametersSchema });
}

function alreadyExists(kind: "agent" | "tool", id: string): UserError {
  return new UserError(
    `${kind}_exists`,
    `There is ${kind === "agent" ? "an agent" : "a tool"} "${id}" already, and the file has a different one.`,
    "Change the id in the file, or replace the existing one with --replace.",
  );
}
