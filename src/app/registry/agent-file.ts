import type { StoredAgent } from "../../domain/agents/agent.js";
import type { ToolRow } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";
import type { Db } from "../../store/connection/open-store.js";
import { findAgent, getAgent } from "../../store/registry/agents.js";
import { findTool, getTool } from "../../store/registry/tools.js";
import { type AgentFile, fromYaml, toYaml } from "./agent-yaml.js";
import { createAgent, setTools, updateAgent } from "./agents.js";
import { createTool, type NewTool, updateTool } from "./tools.js";
import { snapshotOf, withNewVersion } from "./versions.js";

/** An agent as a YAML file, with the tools of one's own that it has. */
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
 * Makes the agent of a YAML file, and the tools of one's own that come with it; all of it or nothing. What is there
 * already under the same id and differs is an error, unless `replace`.
 */
export function importAgent(db: Db, text: string, path: string, replace: boolean): StoredAgent {
  const file = fromYaml(text, path);
  return withNewVersion(db, () => {
    for (const tool of file.tools) if (tool.definition !== undefined) bringTool(db, tool.id, tool.definition, replace);
    const tools = file.tools.map(({ id, config = null }) => ({ id, config }));
    const { id, name, description, model, settings, prompt } = file;
    if (findAgent(db, id) === null) return createAgent(db, { id, name, description, model, settings, prompt, tools });
    if (!replace) throw there("agent", id);
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

function bringTool(db: Db, id: string, definition: Definition, replace: boolean): void {
  const { name, description, category, handler, config: handlerConfig = {}, parameters: parametersSchema } = definition;
  const tool: NewTool = { id, name, description, category, handlerKey: handler, handlerConfig, parametersSchema };
  const known = findTool(db, id);
  if (known === null) {
    createTool(db, tool);
    return;
  }
  if (JSON.stringify(definitionOf(known)) === JSON.stringify({ ...definition, config: handlerConfig })) return;
  if (!replace || known.handlerKey !== handler) throw there("tool", id);
  updateTool(db, id, { name, description, category, handlerConfig, parametersSchema });
}

function there(kind: "agent" | "tool", id: string): UserError {
  return new UserError(
    `${kind}_exists`,
    `There is ${kind === "agent" ? "an agent" : "a tool"} "${id}" already, and the file has another one of that name.`,
    "Change the id in the file, or put it in place of the one that is there with --replace.",
  );
}
