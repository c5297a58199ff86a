// The connections and module workers that all external tools of a run share.
import type { LookupFunction } from "node:net";
import { ModuleWorkers } from "../platform/module-workers.js";
import type { McpConnections } from "./mcp-connections.js";

/** Connections and workers for external tools. A run's tasks share one instance, which closes at the end of the run. */
export interface ExternalResources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Loaded on first use, because the MCP SDK takes longer to load than everything else. */
  readonly mcp: () => Promise<McpConnections>;
  readonly modules: ModuleWorkers;
  /** DNS lookup function. Default: the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
  close(): Promise<void>;
}

export function openExternalResources(env: ExternalResources["env"], lookup?: LookupFunction): ExternalResources {
  let mcp: Promise<McpConnections> | null = null;
  const connect = async () => {
    const { McpConnections } = await import("./mcp-connections.js");
    return new McpConnections();
  };
  const modules = new ModuleWorkers();
  return {
    env,
    mcp() {
      mcp ??= connect();
      return mcp;
    },
    modules,
    lookup,
    async close() {
      await Promise.all([mcp?.then((connections) => connections.close()), modules.close()]);
    },
  };
}
