import { createHash } from "node:crypto";
import { z } from "zod";
import type { Agent } from "../domain/agents/agent.js";
import type { Tool, ToolResult, ToolRow } from "../domain/agents/tool.js";
import { UserError } from "../domain/errors.js";
import { jsonObjectSchema } from "../domain/json.js";
import { parseJsonOrNull } from "../platform/parse-json.js";
import type { Db } from "../store/connection/open-store.js";
import type { AttachedTool } from "../store/registry/tool-rows.js";
import { attachedOrDefault } from "./attached-tools.js";
import { compileArgumentSchema, type SchemaValidator } from "./json-schema/compile-schema.js";
import { toolError } from "./open-mailbox.js";
import { SEARCH_HANDLERS } from "./search-pool/search-handlers.js";
import type { Handler, ToolResources } from "./tool-handler.js";
import { HANDLERS } from "./tool-handler-table.js";

/** The agent's callable tools, from its rows; an agent without rows gets the defaults. */
export function loadTools(db: Db, agent: Agent, resources: ToolResources): Tool[] {
  return attachedOrDefault(db, agent.id).map((attached) => toTool(attached, resources));
}

/** SHA-256 over what a model sees of an agent's tools and over their configuration. */
export function toolsDigest(db: Db, agentId: string): string {
  const described = attachedOrDefault(db, agentId).map(({ tool, config }) => [
    tool.id,
    tool.description,
    tool.parametersSchema,
    tool.handlerKey,
    tool.handlerConfig,
    config,
  ]);
  return createHash("sha256").update(JSON.stringify(described)).digest("hex");
}

/** Creates a callable tool from its row. Throws a UserError that names the tool. */
export function toTool(attached: AttachedTool, resources: ToolResources): Tool {
  const { tool } = attached;
  const { handler, settings } = checkAttached(attached);
  const threads = Object.hasOwn(SEARCH_HANDLERS, tool.handlerKey) ? resources.searchThreads : undefined;
  return {
    id: tool.id,
    description: tool.description,
    parameters: tool.parametersSchema,
    async call(args, context) {
      const checked = compileSchema(tool)(args);
      if (!checked.ok) return badArguments(tool, checked.error);
      const typed = handler.args.safeParse(checked.value);
      if (!typed.success) return badArguments(tool, inOneLine(typed.error));
      if (threads !== undefined) return threads.call(tool.handlerKey, typed.data, context, settings);
      return handler.call(typed.data, context, resources, settings);
    },
  };
}

/** Checks handler, schema and configuration of a tool; throws a UserError for the first problem. */
export function checkAttached({ tool, config }: AttachedTool): { handler: Handler; settings: unknown } {
  const handler = Object.hasOwn(HANDLERS, tool.handlerKey) ? HANDLERS[tool.handlerKey] : undefined;
  if (handler === undefined) {
    throw new UserError(
      "handler_unknown",
      `Tool "${tool.id}" has the handler_key "${tool.handlerKey}", which this program does not have.`,
      `The handlers are: ${Object.keys(HANDLERS).join(", ")}.`,
    );
  }
  // Built-in tools are compiled at their first call, so that ajv does not slow the start of a run.
  if (!isBuiltin(tool)) compileSchema(tool);
  const settings = readConfig(tool, handler, config);
  const problem = handler.validate?.(settings, tool);
  if (problem !== undefined) throw configError(tool, problem);
  return { handler, settings };
}

function isBuiltin(tool: ToolRow & { readonly builtin?: boolean }): boolean {
  return tool.builtin === true;
}

function compileSchema(tool: ToolRow): SchemaValidator {
  try {
    return compileArgumentSchema(tool.parametersSchema, isBuiltin(tool));
  } catch (cause) {
    throw new UserError(
      "tool_schema",
      `The parameters_schema of tool "${tool.id}" cannot be used: ${(cause as Error).message}.`,
      "It is a column of its row in the table tools: one JSON Schema of type object.",
      2,
      { cause },
    );
  }
}

/** The tool's handler_config, overridden by the agent's config. */
function readConfig(tool: ToolRow, handler: Handler, config: string | null): unknown {
  const own = jsonObjectSchema.safeParse(parseJsonOrNull(config ?? "{}"));
  if (!own.success) throw configError(tool, "it is not a JSON object");
  const result = handler.config.safeParse({ ...tool.handlerConfig, ...own.data });
  if (result.success) return result.data;
  throw configError(tool, inOneLine(result.error));
}

function configError(tool: ToolRow, why: string): UserError {
  return new UserError(
    "tool_config",
    `The config of tool "${tool.id}" cannot be used: ${why}.`,
    "It is the tool's handler_config (table tools) and, over it, the agent's config (table agent_tools): JSON objects.",
  );
}

function badArguments({ id }: ToolRow, why: string): ToolResult {
  return toolError("bad_arguments", `${id} was called with arguments that do not fit: ${cut(why)}.`);
}

/** Bounds: argument names come from the model, in any number and length. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_ISSUES = 20;

/** zod's issues in one line. */
function inOneLine({ issues }: z.ZodError): string {
  const text = z.prettifyError(new z.ZodError(issues.slice(0, MAX_ISSUES)));
  return cut(text.replace(/\n *→/g, "").replace(/✖ /g, "").replace(/\n/g, "; "));
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)} ...` : text;
}
