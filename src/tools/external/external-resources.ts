import type { LookupFunction } from "node:net";
import type { McpConnections } from "../../mcp/connections.js";
import { LoadedModules } from "../../processes/module-workers.js";
import { startKept } from "../../processes/supervised-process.js";

/** What tools of one's own reach out with: one a run, shared by its tasks, closed at its end. */
export interface Outside {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Loaded when it is first asked for: MCP's library takes longer to load than all the rest of a run. */
  readonly mcp: () => Promise<McpConnections>;
  readonly modules: LoadedModules;
  /** How names become addresses; the system's own where undefined. */
  readonly lookup?: LookupFunction | undefined;
  /** Ends every connection, program and thread that was begun. */
  close(): Promise<void>;
}

export function openOutside(env: Outside["env"], lookup?: LookupFunction): Outside {
  let mcp: Promise<McpConnections> | null = null;
  const connect = async () => {
    const { McpConnections } = await import("../../mcp/connections.js");
    return new McpConnections((argv, server) => startKept({ argv, env: server }));
  };
  const modules = new LoadedModules();
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
