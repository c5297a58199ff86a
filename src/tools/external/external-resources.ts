import type { LookupFunction } from "node:net";
import type { McpConnections } from "../../mcp/connections.js";
import { ModuleWorkers } from "../../processes/module-workers.js";
import { startSupervised } from "../../processes/supervised-process.js";

/** What tools of one's own reach out with: one a run, shared by its tasks, closed at its end. */
export interface ExternalResources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Loaded when it is first asked for: MCP's library takes longer to load than all the rest of a run. */
  readonly mcp: () => Promise<McpConnections>;
  readonly modules: ModuleWorkers;
  /** How names become addresses; the system's own where undefined. */
  readonly lookup?: LookupFunction | undefined;
  /** Ends every connection, program and thread that was begun. */
  close(): Promise<void>;
}

export function openExternalResources(env: ExternalResources["env"], lookup?: LookupFunction): ExternalResources {
  let mcp: Promise<McpConnections> | null = null;
  const connect = async () => {
    const { McpConnections } = await import("../../mcp/connections.js");
    return new McpConnections((argv, server) => startSupervised({ argv, env: server }));
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
