import type { StoredTool, ToolRow } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import { jsonObjectSchema } from "../../domain/json.js";
import { redact } from "../../domain/redact.js";
import { trimEndOf } from "../../domain/trim-end.js";
import { McpFailed } from "../../mcp/connections.js";
import { isTaskOnly, listServerTools, type ServerTool } from "../../mcp/remote-tools.js";
import { ModuleFailed } from "../../processes/module-workers.js";
import type { Db } from "../../store/connection/open-store.js";
import { listTools } from "../../store/registry/tool-rows.js";
import type { ExternalResources } from "../../tools/external/external-connections.js";
import { ToolFailed } from "../../tools/external/external-tool.js";
import { resolveServer, type StoredServer, secretsOf, serverSchema } from "../../tools/external/mcp-tool.js";
import { cleanEnvironment } from "../../tools/external/secrets.js";
import { checkAttached } from "../../tools/load-tools.js";
import { createTool } from "./edit-tools.js";
import { checkInput } from "./validate-registry-input.js";
import { withNewVersion } from "./versions.js";

const TIMEOUT_MS = 60_000;

export interface ImportedTools {
  readonly added: readonly StoredTool[];
  /** Tools of the server that were not added, with the reason. */
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
}

/** Adds every usable tool of an MCP server in one transaction, each under the prefix and a unique id. */
export async function importServerTools(
  db: Db,
  request: { readonly server: unknown; readonly prefix: string | null; readonly handlerConfig: object },
  external: ExternalResources,
  signal: AbortSignal,
): Promise<ImportedTools> {
  const server = checkInput(serverSchema, request.server, "tool_invalid", "The MCP server cannot be used");
  const { tools, malformed, serverName } = await requestTools(server, external, signal);
  const taken = new Set(listTools(db).map(({ id }) => id));
  const skipped: { name: string; why: string }[] = [];
  const rows = tools.flatMap((tool) => {
    if (isTaskOnly(tool)) {
      skipped.push({ name: tool.name, why: "It can only be called as an MCP task, which art-e does not support." });
      return [];
    }
    const row = rowOf(tool, server, uniqueId(request.prefix ?? serverName, tool.name, taken), request.handlerConfig);
    try {
      checkAttached({ tool: row, config: null });
      taken.add(row.id);
      return row;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      skipped.push({ name: tool.name, why: error.message });
      return [];
    }
  });
  if (malformed > 0)
    skipped.push({ name: `${malformed} of its list`, why: "They are not valid tools of the protocol." });
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
    const listed = await listServerTools(client, signal, TIMEOUT_MS);
    return { ...listed, serverName: client.getServerVersion()?.name ?? "mcp" };
  } catch (error) {
    signal.throwIfAborted();
    const known = error instanceof McpFailed || error instanceof ToolFailed;
    const why = known ? error.message : `The MCP server does not list its tools: ${(error as Error).message}`;
    const redacted = redact(why, secretsOf(server, external));
    // The stack of the cause starts with its message: keep it only if nothing was redacted.
    const cause = redacted === why ? { cause: error } : undefined;
    throw new UserError("mcp_failed", `${redacted}.`, "Try the program or the address without art-e.", 1, cause);
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

function uniqueId(prefix: string, name: string, taken: ReadonlySet<string>): string {
  const plain = [prefix, name].map((part) => trimEndOf(part.replace(/[^a-zA-Z0-9_-]+/g, "_").replace(/^_+/, ""), "_"));
  const base =
    plain
      .filter((part) => part !== "")
      .join("_")
      .slice(0, 64) || "tool";
  for (let n = 1; ; n++) {
    const id = n === 1 ? base : `${base.slice(0, 63 - String(n).length)}_${n}`;
    if (!taken.has(id)) return id;
  }
}

/** The name, description and parameters that a module exports, if any. */
export async function describeModule(
  path: string,
  env: readonly string[],
  external: ExternalResources,
  signal: AbortSignal,
): Promise<{ name?: unknown; description?: unknown; parameters?: unknown }> {
  const environment = cleanEnvironment(env, external.env);
  const refuse = (why: string, cause?: unknown) =>
    new UserError(
      "module_unusable",
      `${path}: ${why}.`,
      "It must export call(args, context), description and parameters.",
      2,
      { cause },
    );
  if (!environment.ok) throw refuse(`the environment variable ${environment.missing} is not set`);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    return await external.modules.describe({ path, env: environment.values }, AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) throw refuse(`it was not loaded within ${TIMEOUT_MS / 1000} s`, error);
    if (error instanceof ModuleFailed) throw refuse(error.message, error);
    throw error;
  }
}
