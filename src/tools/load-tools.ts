// Turns the tool rows of an agent into callable tools, with the table of all handlers.
import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, parseJsonOrNull } from "../platform/json.js";
import { sha256Of } from "../platform/sha256.js";
import type { Db } from "../store/open-store.js";
import { compileArgumentSchema, type SchemaValidator } from "./arguments/json-schema.js";
import { repairArguments } from "./arguments/repair-arguments.js";
import { commandTool, moduleTool } from "./external-tool.js";
import { ACTION_HANDLERS } from "./handlers/action-tools.js";
import { executePython, listFiles, readFile, searchDocuments, writeFile } from "./handlers/file-tools.js";
import { httpTool } from "./handlers/http-tool.js";
import { runNotebook, runShell } from "./handlers/machine-tools.js";
import {
  applyOracle,
  emailGet,
  emailSearch,
  returnFinalAnswer,
  SEARCH_HANDLERS,
  searchEmails,
} from "./handlers/mail-tools.js";
import { toolError } from "./mailbox.js";
import { mcpTool } from "./mcp-tool.js";
import type { Tool, ToolContext, ToolResult } from "./tool.js";
import type { Handler, ToolResources } from "./tool-handler.js";
import { type AttachedTool, attachedOrDefault, getTool, type ToolRow } from "./tools-store.js";

const MACHINE_TOOL_IDS = [
  "run_shell",
  "execute_python",
  "read_file",
  "write_file",
  "list_files",
  "run_notebook",
  "search_documents",
];

/** What the tasks of a run give an external agent access to. */
export interface OfferedAccess {
  readonly mailbox: boolean;
  readonly machine: boolean;
  /** Whether tasks ask for actions in the mailbox. */
  readonly actions?: boolean;
}

export function offeredToolIds({ mailbox, machine, actions = false }: OfferedAccess): string[] {
  const ofMailbox = mailbox ? MAILBOX_TOOL_IDS : [];
  return [...ofMailbox, ...(actions ? ACTION_TOOL_IDS : []), ...(machine ? MACHINE_TOOL_IDS : [])];
}

export function offeredTools(db: Db, resources: ToolResources): (context: ToolContext) => readonly Tool[] {
  const ofMailbox = singleInboxTools(db, resources);
  const toolsOf = (ids: readonly string[]) =>
    ids.map((id) => toTool({ tool: getTool(db, id), config: null }, resources));
  const [ofActions, ofMachine] = [toolsOf(ACTION_TOOL_IDS), toolsOf(MACHINE_TOOL_IDS)];
  return ({ inbox, machine, asksForActions = false }) => [
    ...(inbox === null ? [] : ofMailbox),
    ...(asksForActions ? ofActions : []),
    ...(machine === undefined ? [] : ofMachine),
  ];
}

const schemaSchema = z.looseObject({
  properties: z.record(z.string(), jsonObjectSchema),
  required: z.array(z.string()),
});

const MAILBOX_TOOL_IDS = ["email_search", "email_get"];

/** The built-in tools have the names of their handlers. */
const ACTION_TOOL_IDS = Object.keys(ACTION_HANDLERS);

/**
 * Returns email_search and email_get bound to one mailbox. Their inbox_id is filled in and hidden from the parameters.
 */
export function singleInboxTools(db: Db, resources: ToolResources): Tool[] {
  return MAILBOX_TOOL_IDS.map((id) => withoutInbox(toTool({ tool: getTool(db, id), config: null }, resources)));
}

function withoutInbox(tool: Tool): Tool {
  const { properties, required, ...rest } = schemaSchema.parse(tool.parameters);
  const { inbox_id, ...others } = properties;
  if (inbox_id === undefined) return tool;
  return {
    id: tool.id,
    description: tool.description,
    parameters: { ...rest, properties: others, required: required.filter((name) => name !== "inbox_id") } as JsonObject,
    call: (args, context) => tool.call(withInbox(args, context.inbox), context),
  };
}

export function addInboxArgument(
  { parameters }: Pick<Tool, "parameters">,
  args: JsonValue,
  inbox: string | null,
): JsonValue {
  const { success, data } = schemaSchema.partial().safeParse(parameters);
  return success && data.properties?.inbox_id !== undefined ? withInbox(args, inbox) : args;
}

function withInbox(args: JsonValue, inbox: string | null): JsonValue {
  const object = jsonObjectSchema.safeParse(args);
  return object.success && inbox !== null ? { inbox_id: inbox, ...object.data } : args;
}

/** Returns the agent's callable tools, created from its rows. An agent without rows gets the default tools. */
export function loadTools(db: Db, agentId: string, resources: ToolResources): Tool[] {
  return attachedOrDefault(db, agentId).map((attached) => toTool(attached, resources));
}

/** Returns the SHA-256 hash of an agent's tools, including everything the model sees and their configuration. */
export function toolsDigest(db: Db, agentId: string): string {
  const descriptions = attachedOrDefault(db, agentId).map(({ tool, config }) => [
    tool.id,
    tool.description,
    tool.parametersSchema,
    tool.handlerKey,
    tool.handlerConfig,
    config,
  ]);
  return sha256Of(JSON.stringify(descriptions));
}

/** Creates a callable tool from its row. Throws a UserError that names the tool if the row is invalid. */
export function toTool(attached: AttachedTool, resources: ToolResources): Tool {
  const { tool } = attached;
  const { handler, settings } = checkAttached(attached);
  let check: SchemaValidator | undefined;
  const threads = Object.hasOwn(SEARCH_HANDLERS, tool.handlerKey) ? resources.searchThreads : undefined;
  return {
    id: tool.id,
    description: tool.description,
    parameters: tool.parametersSchema,
    async call(args, context) {
      check ??= compileSchema(tool);
      const { checked, repairs } = checkRepaired(tool, check, args);
      if (!checked.ok) return badArguments(tool, checked.error);
      const typed = handler.args.safeParse(checked.value);
      if (!typed.success) return badArguments(tool, inOneLine(typed.error));
      const called =
        threads !== undefined
          ? await threads.call(tool.handlerKey, typed.data, context, settings)
          : await handler.call(typed.data, context, resources, settings);
      const result = handler.finish?.(called, typed.data, context, resources) ?? called;
      return repairs.length === 0 ? result : { ...result, repairs };
    },
  };
}

/**
 * Returns valid arguments unchanged. If a repair does not help, it is dropped, so that the error names the original
 * arguments.
 */
function checkRepaired({ parametersSchema }: ToolRow, check: SchemaValidator, args: JsonValue) {
  const checked = check(args);
  if (checked.ok) return { checked, repairs: [] };
  const { value, repairs } = repairArguments(parametersSchema, args);
  const again = repairs.length === 0 ? checked : check(value);
  return again.ok ? { checked: again, repairs } : { checked, repairs: [] };
}

/** Checks a tool's handler, schema and configuration. Throws a UserError for the first problem. */
export function checkAttached({ tool, config }: AttachedTool): { handler: Handler; settings: unknown } {
  const handler = Object.hasOwn(HANDLERS, tool.handlerKey) ? HANDLERS[tool.handlerKey] : undefined;
  if (handler === undefined) {
    throw new UserError(
      "handler_unknown",
      `Unknown handler_key "${tool.handlerKey}" for tool "${tool.id}".`,
      `Available: ${Object.keys(HANDLERS).join(", ")}.`,
    );
  }
  // Built-in tools are compiled on their first call, so that ajv does not delay the start of a run.
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
      "tool_schema_invalid",
      `Cannot use the parameters_schema of tool "${tool.id}": ${(cause as Error).message}.`,
      "Correct the tool's column parameters_schema in the table tools: expected a JSON Schema of type object.",
      2,
      { cause },
    );
  }
}

/** Returns the tool's handler_config, overridden by the agent's config. */
function readConfig(tool: ToolRow, handler: Handler, config: string | null): unknown {
  const own = jsonObjectSchema.safeParse(parseJsonOrNull(config ?? "{}"));
  if (!own.success) throw configError(tool, "it is not a JSON object");
  const result = handler.config.safeParse({ ...tool.handlerConfig, ...own.data });
  if (result.success) return result.data;
  const isKeyUnknown = result.error.issues.some(({ code }) => code === "unrecognized_keys");
  const keys = handler.config instanceof z.ZodObject ? Object.keys(handler.config.shape) : [];
  const allowed = isKeyUnknown ? `; allowed: ${keys.join(", ") || "none"}` : "";
  throw configError(tool, `${inOneLine(result.error)}${allowed}`);
}

function configError(tool: ToolRow, why: string): UserError {
  return new UserError(
    "tool_config_invalid",
    `Cannot use the config of tool "${tool.id}": ${why}.`,
    "Correct the tool's handler_config (table tools) or the agent's config, which overrides it (table agent_tools). Both are JSON objects.",
  );
}

function badArguments({ id }: ToolRow, why: string): ToolResult {
  return toolError("bad_arguments", `Invalid arguments for ${id}: ${cut(why)}.`);
}

/** Limits for error messages, because a model can send any number of argument names of any length. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_ISSUES = 20;

function inOneLine({ issues }: z.ZodError): string {
  const text = z.prettifyError(new z.ZodError(issues.slice(0, MAX_ISSUES)));
  return cut(text.replace(/\n *→/g, "").replace(/✖ /g, "").replace(/\n/g, "; "));
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)} ...` : text;
}

/** Handlers that do not reach beyond this program, the task's mailbox and its sandbox. */
const CONTAINED_HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  email_get: emailGet,
  search_emails: searchEmails,
  return_final_answer: returnFinalAnswer,
  execute_python: executePython,
  read_file: readFile,
  write_file: writeFile,
  list_files: listFiles,
  run_shell: runShell,
  run_notebook: runNotebook,
  search_documents: searchDocuments,
  apply_oracle: applyOracle,
  ...ACTION_HANDLERS,
};

/** Maps each handler_key to its handler. A new handler needs a file in this folder and a line here or above. */
export const HANDLERS: Readonly<Record<string, Handler>> = {
  ...CONTAINED_HANDLERS,
  http: httpTool,
  command: commandTool,
  mcp: mcpTool,
  module: moduleTool,
};

/** Returns whether a tool can neither run programs here nor call other servers. False for unknown handlers. */
export function isContained({ handlerKey }: Pick<ToolRow, "handlerKey">): boolean {
  return Object.hasOwn(CONTAINED_HANDLERS, handlerKey);
}
