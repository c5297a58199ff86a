// Adds and changes custom tools from command-line flags, a module's exports, or the tools of an MCP server.
import { resolve } from "node:path";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine, flagName, splitShellWords } from "../platform/command-line.js";
import { withDeadline } from "../platform/deadline.js";
import { UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { type JsonObject, type JsonValue, jsonObjectSchema } from "../platform/json.js";
import { ModuleFailed } from "../platform/module-workers.js";
import { definedProperties } from "../platform/optional-values.js";
import { redact } from "../platform/secrets.js";
import { trimEndOf } from "../platform/trim-end.js";
import { openWorkspace } from "../sandbox/workspace.js";
import type { Db } from "../store/open-store.js";
import { cleanEnvironment, ToolFailed } from "../tools/external-tool.js";
import { addInboxArgument, checkAttached, toTool } from "../tools/load-tools.js";
import { openMailbox } from "../tools/mailbox.js";
import { isTaskOnly, listServerTools, McpFailed, type ServerTool } from "../tools/mcp-connections.js";
import { resolveServer, type StoredServer, secretsOf, serverSchema } from "../tools/mcp-tool.js";
import type { ToolResult } from "../tools/tool.js";
import { type ExternalResources, openExternalResources } from "../tools/tool-connections.js";
import { findTool, getTool, listTools, type StoredTool, type ToolRow } from "../tools/tools-store.js";
import { checkInput, createTool, type NewTool, updateTool, withNewVersion } from "./registry.js";

interface ToolTrial {
  readonly id: string;
  readonly args: JsonValue;
  /** Overrides the tool's own config, like an agent's config. */
  readonly config: JsonObject | null;
  readonly inbox: string | null;
  /** Mail from this day (YYYY-MM-DD) on is invisible. */
  readonly before: string | null;
}

/** A custom tool, as described by command-line flags. */
export interface ToolDescription {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly category?: string | undefined;
  readonly parameters?: JsonObject | undefined;
  readonly http?: string | undefined;
  readonly method?: string | undefined;
  readonly headers?: JsonObject | undefined;
  readonly allowPrivate?: boolean | undefined;
  readonly command?: string | undefined;
  readonly cwd?: string | undefined;
  readonly module?: string | undefined;
  readonly mcp?: string | undefined;
  /** A built-in handler such as email_search. `config` is its configuration. */
  readonly handlerKey?: string | undefined;
  readonly config?: JsonObject | undefined;
  readonly env?: readonly string[] | undefined;
  /** Timeout per call, in seconds. */
  readonly timeout?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly maxResultChars?: number | undefined;
  readonly resultSchema?: JsonObject | undefined;
}

export interface ImportedTools {
  readonly added: readonly StoredTool[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
}

const TOOL_KINDS = ["http", "command", "module", "mcp"] as const;

type ToolKind = (typeof TOOL_KINDS)[number] | "handlerKey";

export async function testTool(
  db: Db,
  call: ToolTrial,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<ToolResult> {
  const stored = getTool(db, call.id);
  const config = call.config === null ? null : JSON.stringify(call.config);
  const external = openExternalResources(settings.env);
  const workspace = openWorkspace();
  try {
    const tool = toTool({ tool: stored, config }, { mailbox: openMailbox(db), outside: external });
    const inbox = call.inbox?.trim().toLowerCase() ?? null;
    return await tool.call(addInboxArgument(tool, call.args, inbox), {
      inbox,
      cutoff: call.before === null ? null : `${call.before}T00:00:00Z`,
      signal,
      workspace,
    });
  } finally {
    await Promise.all([external.close(), workspace.close()]);
  }
}

/** Adds an HTTP, command or module tool, or a tool for one of art-e's handlers. */
export async function addTool(
  db: Db,
  id: string,
  toolDescription: ToolDescription,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<StoredTool> {
  const kind = kindOf(toolDescription);
  const handlerKey = kind === "handlerKey" ? (toolDescription.handlerKey ?? "") : (kind ?? "");
  if (kind === "handlerKey" && (TOOL_KINDS as readonly string[]).includes(handlerKey)) {
    throw new UserError("flag_invalid", `--handler-key ${handlerKey} has its own flag.`, `Use --${handlerKey}.`);
  }
  refuseFieldsOfOtherKinds(toolDescription, handlerKey);
  // The built-in tool with the same name describes the handler's parameters.
  const { description: ofHandler, parametersSchema } = (kind === "handlerKey" ? findTool(db, handlerKey) : null) ?? {};
  const { description = ofHandler, ...columns } = {
    ...definedProperties({ parametersSchema }),
    ...(await describedColumns(toolDescription, settings, signal)),
  };
  if (description === undefined) {
    throw new UserError(
      "flag_missing",
      "--description is required: the model chooses tools by it.",
      "Describe what the tool does.",
    );
  }
  return createTool(db, {
    id,
    handlerKey,
    ...columns,
    description,
    handlerConfig: handlerConfig(toolDescription, handlerKey),
  });
}

export async function addServerTools(
  db: Db,
  toolDescription: ToolDescription,
  prefix: string | null,
  { env }: AppSettings,
  signal: AbortSignal,
): Promise<ImportedTools> {
  refuseFieldsOfOtherKinds(toolDescription, "mcp");
  const external = openExternalResources(env);
  try {
    const request = { server: mcpServer(toolDescription), prefix, handlerConfig: callLimits(toolDescription) };
    return await importServerTools(db, request, external, signal);
  } finally {
    await external.close();
  }
}

export async function changeTool(
  db: Db,
  id: string,
  toolDescription: ToolDescription,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<StoredTool> {
  const before = getTool(db, id);
  const kind = kindOf(toolDescription);
  if (kind !== null && kind !== before.handlerKey) {
    throw new UserError(
      "flags_contradict",
      `Cannot change the kind of tool "${id}" from ${before.handlerKey} with --${kind}.`,
      "Add another tool.",
    );
  }
  refuseFieldsOfOtherKinds(toolDescription, before.handlerKey);
  const config = handlerConfig(toolDescription, before.handlerKey);
  const columns = await describedColumns(toolDescription, settings, signal);
  if (Object.keys({ ...config, ...columns }).length === 0) {
    throw new UserError("flag_missing", "tools set: nothing to change.", `See ${commandLine`art-e tools set --help`}.`);
  }
  return updateTool(db, id, { ...columns, handlerConfig: { ...before.handlerConfig, ...config } });
}

/** Fields that apply only to some kinds of tools. */
const KINDS_OF_FIELD: Readonly<Partial<Record<keyof ToolDescription, readonly string[]>>> = {
  method: ["http"],
  headers: ["http", "mcp"],
  allowPrivate: ["http"],
  cwd: ["command"],
  env: ["command", "module", "mcp"],
};

/**
 * Returns the kind of the described tool, or null if the description does not specify one. Throws if it specifies two.
 */
export function kindOf(toolDescription: Pick<ToolDescription, ToolKind>): ToolKind | null {
  const kinds = [...TOOL_KINDS, "handlerKey"] as const;
  const [kind, other] = kinds.filter((name) => toolDescription[name] !== undefined);
  if (kind === undefined || other === undefined) return kind ?? null;
  throw new UserError(
    "flags_contradict",
    `${flagName(kind)} and ${flagName(other)} define two tools.`,
    "Add them one after the other.",
  );
}

function refuseFieldsOfOtherKinds(toolDescription: ToolDescription, kind: string): void {
  if (toolDescription.config !== undefined && (TOOL_KINDS as readonly string[]).includes(kind)) {
    throw new UserError(
      "flags_contradict",
      `--config does not apply to ${kind} tools.`,
      "Use the tool's own flags, or agents attach --config for one agent.",
    );
  }
  for (const [name, kinds] of Object.entries(KINDS_OF_FIELD)) {
    if (toolDescription[name as keyof ToolDescription] === undefined || kinds.includes(kind)) continue;
    throw new UserError(
      "flags_contradict",
      `${flagName(name)} does not apply to ${kind} tools.`,
      `It applies to: ${kinds.join(", ")}.`,
    );
  }
}

/** Returns the tool's columns without its handler. A module describes itself, but flags override its description. */
async function describedColumns(
  toolDescription: ToolDescription,
  { env }: AppSettings,
  signal: AbortSignal,
): Promise<Partial<Pick<NewTool, "name" | "description" | "category" | "parametersSchema">>> {
  const { name, description, category, parameters, module } = toolDescription;
  const fromModule = module === undefined ? {} : await columnsOfModule(module, toolDescription.env ?? [], env, signal);
  return { ...fromModule, ...definedProperties({ name, description, category, parametersSchema: parameters }) };
}

async function columnsOfModule(file: string, names: readonly string[], env: AppSettings["env"], signal: AbortSignal) {
  const external = openExternalResources(env);
  try {
    const { name, description, parameters } = await describeModule(resolve(file), names, external, signal);
    return {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof description === "string" ? { description } : {}),
      ...(parameters === undefined ? {} : { parametersSchema: parametersOf(parameters, file) }),
    };
  } finally {
    await external.close();
  }
}

function parametersOf(exported: unknown, file: string): JsonObject {
  const object = jsonObjectSchema.safeParse(exported);
  if (object.success) return object.data;
  throw new UserError(
    "flag_invalid",
    `${file}: parameters: expected a JSON object.`,
    "Pass a JSON Schema of type object.",
  );
}

function handlerConfig(toolDescription: ToolDescription, kind: string): JsonObject {
  const { http, method, headers, allowPrivate, command, cwd, module, env, config } = toolDescription;
  return jsonObjectSchema.parse({
    ...config,
    ...definedProperties({
      url: http,
      method,
      headers,
      allowPrivate,
      command: command === undefined ? undefined : splitShellWords(command, "--command"),
      cwd: cwd === undefined ? undefined : resolve(cwd),
      module: module === undefined ? undefined : resolve(module),
      // An MCP server's environment is part of its address.
      env: kind === "mcp" ? undefined : env,
    }),
    ...callLimits(toolDescription),
  });
}

function callLimits({ timeout, maxBytes, maxResultChars, resultSchema }: ToolDescription): JsonObject {
  const timeoutMs = timeout === undefined ? undefined : Math.ceil(timeout * 1_000);
  return jsonObjectSchema.parse(definedProperties({ timeoutMs, maxBytes, maxResultChars, resultSchema }));
}

/** Returns an MCP server, either a URL or a program with its arguments. */
function mcpServer({ mcp = "", headers, env }: ToolDescription): JsonObject {
  const isUrl = /^https?:\/\//i.test(mcp);
  const address = isUrl ? { url: mcp } : { command: splitShellWords(mcp, "--mcp") };
  return jsonObjectSchema.parse(definedProperties({ ...address, headers, env }));
}

const TIMEOUT_MS = 60_000;

/**
 * Adds every usable tool of an MCP server in one transaction. Each tool gets a unique id that starts with the prefix.
 */
export async function importServerTools(
  db: Db,
  request: { readonly server: unknown; readonly prefix: string | null; readonly handlerConfig: object },
  external: ExternalResources,
  signal: AbortSignal,
): Promise<ImportedTools> {
  const server = checkInput(serverSchema, request.server, "tool_invalid", "Cannot use the MCP server");
  const { tools, malformed, serverName } = await requestTools(server, external, signal);
  const usedIds = new Set(listTools(db).map(({ id }) => id));
  const skipped: { name: string; why: string }[] = [];
  const rows = tools.flatMap((tool) => {
    if (isTaskOnly(tool)) {
      skipped.push({ name: tool.name, why: "It can only be called as an MCP task, which is unsupported." });
      return [];
    }
    const row = rowOf(tool, server, uniqueId(request.prefix ?? serverName, tool.name, usedIds), request.handlerConfig);
    try {
      checkAttached({ tool: row, config: null });
      usedIds.add(row.id);
      return row;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      skipped.push({ name: tool.name, why: error.message });
      return [];
    }
  });
  if (malformed > 0) skipped.push({ name: `${malformed} listed tools`, why: "They are not valid MCP tools." });
  const added = withNewVersion(db, () => rows.map((row) => createTool(db, row)));
  return { added, skipped };
}

async function requestTools(server: StoredServer, external: ExternalResources, signal: AbortSignal) {
  try {
    const client = await (await external.mcp()).to(
      resolveServer(server, external),
      signal,
      secretsOf(server, external),
    );
    const listing = await listServerTools(client, signal, TIMEOUT_MS);
    return { ...listing, serverName: client.getServerVersion()?.name ?? "mcp" };
  } catch (error) {
    signal.throwIfAborted();
    const isReadable = error instanceof McpFailed || error instanceof ToolFailed;
    const why = isReadable ? error.message : `Cannot list the tools of the MCP server: ${(error as Error).message}`;
    const redacted = redact(why, secretsOf(server, external));
    // The cause's stack starts with its message, so keep it only if nothing was redacted.
    const cause = redacted === why ? { cause: error } : undefined;
    throw new UserError("mcp_failed", redacted, "Try the program or the URL without art-e.", 1, cause);
  }
}

function rowOf(tool: ServerTool, server: StoredServer, id: string, handlerConfig: object): ToolRow {
  return {
    id,
    name: tool.title ?? tool.name,
    description: tool.description === "" ? tool.name : tool.description,
    parametersSchema: tool.inputSchema,
    handlerKey: "mcp",
    handlerConfig: jsonObjectSchema.parse({ server, tool: tool.name, ...handlerConfig }),
    category: "mcp",
  };
}

function uniqueId(prefix: string, name: string, usedIds: ReadonlySet<string>): string {
  const plain = [prefix, name].map((part) => trimEndOf(part.replace(/[^a-zA-Z0-9_-]+/g, "_").replace(/^_+/, ""), "_"));
  const base =
    plain
      .filter((part) => part !== "")
      .join("_")
      .slice(0, 64) || "tool";
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base.slice(0, 63 - String(n).length)}_${n}`;
    if (!usedIds.has(id)) return id;
  }
}

const EXPORT_CALL = "Export call(args, context), description and parameters from the module.";
const FIX_MODULE = "Fix the module, then run the command again.";

/** Returns the name, description and parameters that a module exports, if any. */
export async function describeModule(
  path: string,
  env: readonly string[],
  external: ExternalResources,
  signal: AbortSignal,
): Promise<{ name?: unknown; description?: unknown; parameters?: unknown }> {
  const environment = cleanEnvironment(env, external.env);
  const refuse = (why: string, hint: string, cause?: unknown) =>
    new UserError("module_unusable", `${path}: ${why}`, hint, 2, { cause });
  const file = statOf(path);
  if (!file?.isFile()) {
    const why = file === undefined ? "no such file" : "is not a file";
    throw refuse(why, "Pass --module the path of a JavaScript or TypeScript file.");
  }
  if (!environment.ok) {
    throw refuse(`the environment variable ${environment.missing} is not set`, `Set ${environment.missing}.`);
  }
  const late = () => refuse(`it did not load within ${TIMEOUT_MS / 1000} s`, FIX_MODULE);
  try {
    return await withDeadline(signal, TIMEOUT_MS, late, (within) =>
      external.modules.describe({ path, env: environment.values }, within),
    );
  } catch (error) {
    if (error instanceof ModuleFailed) {
      // For a missing import, Node appends a multi-line "Require stack".
      const why = error.message.replace(/\nRequire stack:[\s\S]*$/, "").replace(/\s+/g, " ");
      throw refuse(why, error.lacksCall ? EXPORT_CALL : FIX_MODULE, error);
    }
    throw error;
  }
}
