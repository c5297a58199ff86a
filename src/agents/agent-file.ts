// An agent with its custom tools as a YAML file, to move it between databases.
import { stringify } from "yaml";
import { z } from "zod";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { firstIssue, jsonObjectSchema } from "../platform/json.js";
import { readYamlDocument, type YamlDocument, YamlError } from "../platform/yaml.js";
import type { Db } from "../store/open-store.js";
import { findTool, registryIdSchema, type ToolRow } from "../tools/tools-store.js";
import { agentSettingsSchema, type StoredAgent } from "./agent.js";
import {
  createAgent,
  createTool,
  type NewTool,
  setTools,
  updateAgent,
  updateTool,
  withNewVersion,
} from "./registry.js";
import { findAgent, getAgent, versionedAgent } from "./registry-store.js";

type Definition = NonNullable<AgentFile["tools"][number]["definition"]>;

/** Tool definition in an agent's file. Built-in tools do not need one. */
const definitionSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  category: z.string(),
  handler: z.string(),
  config: jsonObjectSchema.optional(),
  parameters: jsonObjectSchema,
});

const fileSchema = z.strictObject({
  id: registryIdSchema,
  name: z.string(),
  description: z.string().default(""),
  model: z.string().nullable().default(null),
  settings: agentSettingsSchema.prefault({}),
  prompt: z.string().min(1),
  tools: z
    .array(
      z.strictObject({
        id: registryIdSchema,
        config: jsonObjectSchema.optional(),
        definition: definitionSchema.optional(),
      }),
    )
    .min(1),
});

type AgentFile = z.output<typeof fileSchema>;

/** Returns an agent, or one of its versions, as YAML, including the definitions of its custom tools. */
export function exportAgent(db: Db, id: string, { agent, tools } = versionedAgent(db, id)): string {
  const { name, description, model, settings, prompt } = agent;
  const file: AgentFile = {
    id,
    name,
    description,
    model,
    settings,
    prompt,
    tools: tools.map(({ tool, config }) => ({
      id: tool.id,
      ...(config === null ? {} : { config: jsonObjectSchema.parse(JSON.parse(config)) }),
      ...(findTool(db, tool.id)?.builtin === true ? {} : { definition: definitionOf(tool) }),
    })),
  };
  // For people to edit: without folded lines, multi-line text becomes block literals.
  return stringify(file, { lineWidth: 0 });
}

/**
 * Creates the agent in a YAML file and the tools defined there, all or nothing. An existing agent or a different tool
 * with the same id is an error unless `replace` is set.
 */
export function importAgent(db: Db, text: string, path: string, replace: boolean): StoredAgent {
  const file = fromYaml(text, path);
  return withNewVersion(db, () => {
    for (const tool of file.tools) if (tool.definition !== undefined) importTool(db, tool.id, tool.definition, replace);
    const tools = file.tools.map(({ id, config = null }) => ({ id, config }));
    const { id, name, description, model, settings, prompt } = file;
    if (findAgent(db, id) === null) return createAgent(db, { id, name, description, model, settings, prompt, tools });
    if (!replace) throw alreadyExists("agent", id);
    const unset = { temperature: null, reasoningTokens: null, reasoningEffort: null };
    updateAgent(db, id, { name, description, model, settings: { ...unset, ...settings }, prompt });
    setTools(db, id, tools);
    return getAgent(db, id);
  });
}

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
  const existing = findTool(db, id);
  if (existing === null) {
    createTool(db, tool);
    return;
  }
  if (JSON.stringify(definitionOf(existing)) === JSON.stringify({ ...definition, config: handlerConfig })) return;
  if (!replace || existing.handlerKey !== handler) throw alreadyExists("tool", id);
  updateTool(db, id, { name, description, category, handlerConfig, parametersSchema });
}

function alreadyExists(kind: "agent" | "tool", id: string): UserError {
  return new UserError(
    `${kind}_exists`,
    `${kind === "agent" ? "Agent" : "Tool"} "${id}" already exists, and the file defines it differently.`,
    "Change the id in the file, or pass --replace to replace it.",
  );
}

const MAX_CHARS = 4_000_000;

/** Parses an agent's file. Errors name the file and the line. */
function fromYaml(text: string, path: string): AgentFile {
  const refuse = (why: string, line: number | undefined, cause?: unknown) =>
    new UserError(
      "agent_file_invalid",
      `${path}${line === undefined ? "" : `:${line}`}: ${why}.`,
      `${commandLine`art-e agents export ID`} prints an example.`,
      2,
      { cause },
    );
  if (text.length > MAX_CHARS) throw refuse(`has more than ${MAX_CHARS} characters`, undefined);
  let document: YamlDocument;
  try {
    document = readYamlDocument(text);
  } catch (error) {
    if (error instanceof YamlError) throw refuse(error.message, error.line, error);
    throw error;
  }
  const read = fileSchema.safeParse(document.value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const key = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  throw refuse(firstIssue(read.error).replace(/\.$/, ""), document.lineOf(issue?.path ?? [], key));
}
