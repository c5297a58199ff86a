// Creates, changes and deletes agents and tools. Each change of an agent is a new version.
import { z } from "zod";
import { parseModelName } from "../models/model-names.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { firstIssue, type JsonObject, jsonObjectSchema } from "../platform/json.js";
import { definedProperties } from "../platform/optional-values.js";
import type { Db } from "../store/open-store.js";
import { checkAttached } from "../tools/load-tools.js";
import {
  type AttachedTool,
  attachedOrDefault,
  DEFAULT_TOOL_IDS,
  findTool,
  getTool,
  listAgentsWithTool,
  registryIdSchema,
  removeTool,
  type StoredTool,
  saveTool,
} from "../tools/tools-store.js";
import { type Agent, agentSettingsSchema, type StoredAgent } from "./agent.js";
import { checkPrompt } from "./prompt-template.js";
import { findAgent, getAgent, getVersion, listAgentIds, saveCurrentVersion } from "./registry-store.js";

const changeableTool = {
  name: z.string().min(1).max(200),
  /** Part of the model's input. */
  description: z.string().min(1, "is empty: the model reads it").max(100_000),
  parametersSchema: jsonObjectSchema,
  handlerConfig: jsonObjectSchema,
  category: z.string().min(1).max(64),
};

/** Input for a new tool. The handlers themselves check `handlerKey` and `handlerConfig`. */
const newToolSchema = z.strictObject({
  ...changeableTool,
  id: registryIdSchema,
  name: changeableTool.name.optional(),
  parametersSchema: changeableTool.parametersSchema.default({
    type: "object",
    properties: {},
    additionalProperties: false,
  }),
  handlerKey: z.string().min(1),
  handlerConfig: changeableTool.handlerConfig.default({}),
  category: changeableTool.category.default("general"),
});

/**
 * Changes to a tool. Omitted fields stay the same. The handler cannot be changed, because the result would be a
 * different tool.
 */
const toolChangesSchema = z.strictObject(changeableTool).partial();

export type NewTool = z.input<typeof newToolSchema>;

const attachmentSchema = z.strictObject({ id: registryIdSchema, config: jsonObjectSchema.nullable().default(null) });

type Attachment = z.output<typeof attachmentSchema>;

export function createTool(db: Db, input: NewTool): StoredTool {
  const tool = checkInput(newToolSchema, input, "tool_invalid", "Cannot add the tool");
  const row = { ...tool, name: tool.name ?? tool.id };
  checkAttached({ tool: row, config: null });
  return withNewVersion(db, () => {
    if (findTool(db, tool.id) !== null) {
      throw new UserError(
        "tool_exists",
        `Tool "${tool.id}" already exists.`,
        `Choose another id, or change it: ${commandLine`art-e tools set ${tool.id}`}`,
      );
    }
    saveTool(db, row);
    return getTool(db, tool.id);
  });
}

export function updateTool(db: Db, id: string, input: z.input<typeof toolChangesSchema>): StoredTool {
  return withNewVersion(db, () => {
    const before = getTool(db, id);
    refuseBuiltin("tool", before);
    const changes = checkInput(toolChangesSchema, input, "tool_invalid", `Cannot change tool "${id}"`);
    const after = { ...before, ...definedProperties(changes) };
    checkAttached({ tool: after, config: null });
    for (const { config } of listAgentsWithTool(db, id)) checkAttached({ tool: after, config });
    saveTool(db, after);
    return getTool(db, id);
  });
}

export function deleteTool(db: Db, id: string): void {
  withNewVersion(db, () => {
    refuseBuiltin("tool", getTool(db, id));
    const [first, ...more] = listAgentsWithTool(db, id);
    if (first !== undefined) {
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      throw new UserError(
        "tool_in_use",
        `Tool "${id}" is attached to agent "${first.id}"${others}.`,
        `Detach it first: ${commandLine`art-e agents detach ${first.id} ${id}`}`,
      );
    }
    removeTool(db, id);
  });
}

const changeable = {
  name: z.string().min(1).max(200),
  description: z.string().max(10_000),
  prompt: z.string().min(1, "is empty").max(1_000_000),
  /** `provider/name`, or null for the run's model. */
  model: z.string().min(1).nullable(),
};

const attachedTools = z.array(attachmentSchema).min(1, "expected at least one tool");

/** Input for a new agent. Omitted fields get their defaults, including the tools. */
export const newAgentSchema = z.strictObject({
  ...changeable,
  id: registryIdSchema,
  name: changeable.name.optional(),
  description: changeable.description.default(""),
  model: changeable.model.default(null),
  settings: agentSettingsSchema.prefault({}),
  tools: attachedTools.default(DEFAULT_TOOL_IDS.map((id) => ({ id, config: null }))),
});

/**
 * Changes to an agent. Omitted fields stay the same. In `settings`, null restores the default. `tools` replaces all
 * tools.
 */
export const agentChangesSchema = z.strictObject({
  ...z.object({ ...changeable, tools: attachedTools }).partial().shape,
  settings: z
    .strictObject(
      Object.fromEntries(Object.keys(agentSettingsSchema.shape).map((name) => [name, z.unknown()])) as Record<
        keyof typeof agentSettingsSchema.shape,
        z.ZodUnknown
      >,
    )
    .partial()
    .optional(),
});

export function createAgent(db: Db, input: z.input<typeof newAgentSchema>): StoredAgent {
  const { tools, ...row } = checkInput(newAgentSchema, input, "agent_invalid", "Cannot create the agent");
  const agent = normalizeRow(row);
  return withNewVersion(db, () => {
    if (findAgent(db, agent.id) !== null) throw alreadyExists(agent.id);
    saveAgent(db, { ...agent, name: agent.name ?? agent.id });
    setTools(db, agent.id, tools);
    return getAgent(db, agent.id);
  });
}

export function updateAgent(db: Db, id: string, input: z.input<typeof agentChangesSchema>): StoredAgent {
  return withNewVersion(db, () => {
    const before = getAgent(db, id);
    refuseBuiltin("agent", before);
    const what = `Cannot change agent "${id}"`;
    const { settings: changed = {}, tools, ...changes } = checkInput(agentChangesSchema, input, "agent_invalid", what);
    const merged = Object.entries({ ...before.settings, ...changed }).filter(([, value]) => value != null);
    const settings = checkInput(agentSettingsSchema, Object.fromEntries(merged), "agent_invalid", `${what}: settings`);
    saveAgent(db, normalizeRow({ ...before, ...definedProperties(changes), settings }));
    if (tools !== undefined) setTools(db, id, tools);
    return getAgent(db, id);
  });
}

/** Restores a version of an agent. Throws if one of its tools has since been deleted. */
export function restoreVersion(db: Db, id: string, version: number): StoredAgent {
  return withNewVersion(db, () => {
    refuseBuiltin("agent", getAgent(db, id));
    const { agent, tools } = getVersion(db, id, version);
    saveAgent(db, normalizeRow({ ...agent, settings: agentSettingsSchema.parse(agent.settings) }));
    setTools(db, id, tools.map(attachmentOf));
    return getAgent(db, id);
  });
}

/** Deletes an agent. Its versions remain, because runs refer to them. */
export function deleteAgent(db: Db, id: string): void {
  withNewVersion(db, () => {
    refuseBuiltin("agent", getAgent(db, id));
    db.prepare("DELETE FROM agents WHERE id = ?").run(id);
  });
}

export function cloneAgent(db: Db, id: string, newId: string): StoredAgent {
  const { prompt, model, settings, name, description } = getAgent(db, id);
  return createAgent(db, { id: newId, name, description, prompt, model, settings, tools: attachmentsOf(db, id) });
}

/** Appends tools to the agent's tools, all or none. `config` overrides the tools' own configuration. */
export function attachTools(
  db: Db,
  agentId: string,
  toolIds: readonly string[],
  config: JsonObject | null = null,
): void {
  withNewVersion(db, () => {
    refuseBuiltin("agent", getAgent(db, agentId));
    const tools = attachmentsOf(db, agentId);
    const attachedId = toolIds.find((toolId) => tools.some(({ id }) => id === toolId));
    if (attachedId !== undefined) {
      throw new UserError(
        "tool_attached",
        `Agent "${agentId}" already has the tool "${attachedId}".`,
        `Change its config: ${commandLine`art-e agents configure ${agentId} ${attachedId} --config JSON`}`,
      );
    }
    setTools(db, agentId, [...tools, ...toolIds.map((toolId) => ({ id: getTool(db, toolId).id, config }))]);
  });
}

/** Replaces the config of an attached tool. Its position among the tools does not change. */
export function configureTool(db: Db, agentId: string, toolId: string, config: JsonObject | null): void {
  withNewVersion(db, () => {
    refuseBuiltin("agent", getAgent(db, agentId));
    const tools = attachmentsOf(db, agentId);
    if (!tools.some(({ id }) => id === toolId)) throw notAttached(agentId, toolId, tools);
    setTools(
      db,
      agentId,
      tools.map((tool) => (tool.id === toolId ? { ...tool, config } : tool)),
    );
  });
}

function notAttached(agentId: string, toolId: string, tools: readonly { readonly id: string }[]): UserError {
  return new UserError(
    "tool_not_attached",
    `Agent "${agentId}" does not have the tool "${toolId}".`,
    `Its tools: ${tools.map(({ id }) => id).join(", ")}.`,
  );
}

/** Removes tools from the agent, all or none. */
export function detachTools(db: Db, agentId: string, toolIds: readonly string[]): void {
  withNewVersion(db, () => {
    refuseBuiltin("agent", getAgent(db, agentId));
    const tools = attachmentsOf(db, agentId);
    const absent = toolIds.find((toolId) => tools.every(({ id }) => id !== toolId));
    if (absent !== undefined) throw notAttached(agentId, absent, tools);
    const rest = tools.filter(({ id }) => !toolIds.includes(id));
    if (rest.length === 0) {
      throw new UserError(
        "tool_last",
        `Cannot detach "${toolIds.join('", "')}": agent "${agentId}" would have no tools left, and would therefore get the default tools.`,
        "Attach another tool first.",
      );
    }
    setTools(db, agentId, rest);
  });
}

/** Replaces an agent's tools in the order of `tools`. Call it only within `withNewVersion`. */
export function setTools(db: Db, agentId: string, tools: readonly Attachment[]): void {
  const duplicate = tools.find(({ id }, i) => tools.findIndex((other) => other.id === id) !== i);
  if (duplicate !== undefined) {
    throw new UserError("tool_attached", `The tool "${duplicate.id}" is listed twice.`, "List each tool once.");
  }
  const rows = tools.map(({ id, config }) => ({ id, config: config === null ? null : JSON.stringify(config) }));
  for (const { id, config } of rows) checkAttached({ tool: getTool(db, id), config });
  db.prepare("DELETE FROM agent_tools WHERE agent_id = ?").run(agentId);
  const add = db.prepare("INSERT INTO agent_tools (agent_id, tool_id, config) VALUES (?, ?, ?)");
  for (const { id, config } of rows) add.run(agentId, id, config);
  db.prepare("UPDATE agents SET updated_at = CURRENT_TIMESTAMP WHERE id = ?").run(agentId);
}

/** Returns the agent's tools, or the default tools if it does not have any. */
function attachmentsOf(db: Db, agentId: string): Attachment[] {
  return attachedOrDefault(db, agentId).map(attachmentOf);
}

function attachmentOf({ tool, config }: AttachedTool): Attachment {
  return { id: tool.id, config: config === null ? null : jsonObjectSchema.parse(JSON.parse(config)) };
}

/** Checks the prompt, and expands the model to `provider/name`. */
function normalizeRow<T extends { prompt: string; model: string | null }>(row: T): T {
  checkPrompt(row.prompt);
  return row.model === null ? row : { ...row, model: fullName(row.model) };
}

function fullName(model: string): string {
  try {
    return parseModelName(model, null).id;
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    throw new UserError("agent_invalid", `Cannot use the model "${model}".`, cause.hint, 2, { cause });
  }
}

function alreadyExists(id: string): UserError {
  return new UserError(
    "agent_exists",
    `Agent "${id}" already exists.`,
    `Choose another id, or change it: ${commandLine`art-e agents set ${id}`}`,
  );
}

/** Runs a change in one transaction, and stores the versions of all agents before and after it. */
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

/** An agent with invalid rows cannot run, but must not prevent changes to other agents. */
function saveIfReadable(db: Db, agentId: string): void {
  try {
    saveCurrentVersion(db, agentId);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
}

/** Parses the input of a change. The error names the first invalid field. */
export function checkInput<T extends z.ZodType>(schema: T, value: unknown, code: string, what: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new UserError(code, `${what}: ${firstIssue(result.error)}.`, "Nothing was changed.");
}

/** Throws for built-in agents and tools. They cannot be changed, because published figures refer to them. */
function refuseBuiltin(kind: "agent" | "tool", { id, builtin }: { id: string; builtin: boolean }): void {
  if (!builtin) return;
  throw new UserError(
    `${kind}_builtin`,
    `${kind === "agent" ? "Agent" : "Tool"} "${id}" is built in and cannot be changed.`,
    kind === "agent"
      ? `Change a copy: ${commandLine`art-e agents clone ${id} NEW_ID`}`
      : `Add your own tool under another id: ${commandLine`art-e tools add ID`}`,
  );
}

function saveAgent(db: Db, agent: Agent): void {
  const { id, name, description, prompt, model, settings } = agent;
  db.prepare(
    `INSERT INTO agents (id, name, description, prompt, model, settings)
     VALUES (@id, @name, @description, @prompt, @model, @settings)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, prompt = excluded.prompt,
       model = excluded.model, settings = excluded.settings, updated_at = CURRENT_TIMESTAMP`,
  ).run({ id, name, description, prompt, model, settings: JSON.stringify(settings) });
}
