import type { JsonObject } from "../../domain/json.js";
import { ApiError } from "../http/api-error.js";
import type { Services } from "../http/route-services.js";

/** Handlers that run programs named in their config, as the user who started the server. */
const RUN_PROGRAMS: ReadonlySet<string> = new Set(["command", "module", "mcp"]);

/**
 * A client that can write a tool's config could run programs here, read this machine's keys or reach servers behind its
 * firewall. Throws for such a config unless the server was started with --allow-programs; tools that were made on the
 * command line may be attached unchanged. `config` overrides the tool's own; null: nothing is overridden.
 */
export function checkToolPermissions(
  { allowPrograms }: Pick<Services, "allowPrograms">,
  tool: { readonly handlerKey: string; readonly handlerConfig: JsonObject },
  config: JsonObject | null,
): void {
  if (allowPrograms || config === null || Object.keys(config).length === 0) return;
  const permission = requiredPermission(tool.handlerKey, { ...tool.handlerConfig, ...config });
  if (permission === null) return;
  throw new ApiError(
    "FORBIDDEN",
    `Over HTTP, a ${tool.handlerKey} tool that ${permission} can only be made or configured where the server was started with --allow-programs.`,
  );
}

function requiredPermission(handlerKey: string, effectiveConfig: JsonObject): string | null {
  if (RUN_PROGRAMS.has(handlerKey)) return "runs programs of its machine";
  if (effectiveConfig.allowPrivate === true) return "reaches private addresses";
  return JSON.stringify(effectiveConfig).includes("${ENV:") ? "reads the environment" : null;
}
