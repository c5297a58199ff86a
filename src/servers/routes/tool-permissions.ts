import type { JsonObject } from "../../domain/json.js";
import { ApiError } from "../http/api-error.js";
import type { Services } from "../http/services.js";

/** Handlers that run what their config names, on this machine and as whoever started the server. */
const RUN_PROGRAMS: ReadonlySet<string> = new Set(["command", "module", "mcp"]);

/**
 * Whoever may write a tool's config could otherwise run programs here, read this machine's keys or ask servers behind its
 * firewall. Throws unless the server was started with --allow-programs; a tool that came to be otherwise may be given to
 * agents as it is. `config` is what is about to be laid over the tool's own; null: nothing.
 */
export function checkToolPermissions(
  { allowPrograms }: Pick<Services, "allowPrograms">,
  tool: { readonly handlerKey: string; readonly handlerConfig: JsonObject },
  config: JsonObject | null,
): void {
  if (allowPrograms || config === null || Object.keys(config).length === 0) return;
  const reach = reachOf(tool.handlerKey, { ...tool.handlerConfig, ...config });
  if (reach === null) return;
  throw new ApiError(
    "FORBIDDEN",
    `Over HTTP, a ${tool.handlerKey} tool that ${reach} can only be made or configured where the server was started with --allow-programs.`,
  );
}

function reachOf(handlerKey: string, merged: JsonObject): string | null {
  if (RUN_PROGRAMS.has(handlerKey)) return "runs programs of its machine";
  if (merged.allowPrivate === true) return "reaches private addresses";
  return JSON.stringify(merged).includes("${ENV:") ? "reads the environment" : null;
}
