import type { StoredTool } from "../../domain/agents/tool.js";
import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { getTool } from "../../store/registry/tool-rows.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import type { AppSettings } from "../use-case-context.js";
import { createTool, updateTool } from "./edit-tools.js";
import {
  callLimits,
  describedColumns,
  handlerConfig,
  kindOf,
  mcpServer,
  refuseFieldsOfOtherKinds,
  type ToolDescription,
} from "./external-tools.js";
import { type ImportedTools, importServerTools } from "./import-tools.js";

/** Adds an HTTP, command or module tool. */
export async function addTool(
  db: Db,
  id: string,
  described: ToolDescription,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<StoredTool> {
  const kind = kindOf(described) ?? "";
  refuseFieldsOfOtherKinds(described, kind);
  const { description, ...columns } = await describedColumns(described, settings, signal);
  if (description === undefined) {
    throw new UserError("flag_missing", "tools add needs a --description: the model reads it.", "Say what it does.");
  }
  return createTool(db, {
    id,
    handlerKey: kind,
    ...columns,
    description,
    handlerConfig: handlerConfig(described, kind),
  });
}

/** Adds all tools of an MCP server. */
export async function addServerTools(
  db: Db,
  described: ToolDescription,
  prefix: string | null,
  { env }: AppSettings,
  signal: AbortSignal,
): Promise<ImportedTools> {
  refuseFieldsOfOtherKinds(described, "mcp");
  const external = openExternalResources(env);
  try {
    const request = { server: mcpServer(described), prefix, handlerConfig: callLimits(described) };
    return await importServerTools(db, request, external, signal);
  } finally {
    await external.close();
  }
}

/** Changes what the description names; the tool's kind stays. */
export async function changeTool(
  db: Db,
  id: string,
  described: ToolDescription,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<StoredTool> {
  const before = getTool(db, id);
  const kind = kindOf(described);
  if (kind !== null && kind !== before.handlerKey) {
    throw new UserError(
      "flags_contradict",
      `Tool "${id}" is of the kind ${before.handlerKey}: --${kind} would make another tool of it.`,
      "Add a new tool.",
    );
  }
  refuseFieldsOfOtherKinds(described, before.handlerKey);
  const config = handlerConfig(described, before.handlerKey);
  const columns = await describedColumns(described, settings, signal);
  if (Object.keys({ ...config, ...columns }).length === 0) {
    throw new UserError("flag_missing", "tools set: there is nothing to change.", "See art-e tools set --help.");
  }
  return updateTool(db, id, { ...columns, handlerConfig: { ...before.handlerConfig, ...config } });
}
