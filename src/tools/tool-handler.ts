import type { LookupFunction } from "node:net";
import { z } from "zod";
import { ModuleWorkers } from "../platform/module-workers.js";
import { startSupervised } from "../platform/processes.js";
import type { SandboxChoice } from "../sandbox/python.js";
import type { Mailbox } from "./mailbox.js";
import type { McpConnections } from "./mcp-connections.js";
import type { SearchPool } from "./search-pool.js";
import type { ToolContext, ToolResult, ToolRow } from "./tool.js";

/** What handlers work with. */
export interface ToolResources {
  readonly mailbox: Mailbox;
  /** If present, the search handlers run on its threads. */
  readonly searchThreads?: SearchPool | undefined;
  /** For external tools; without it, their calls return an error. */
  readonly outside?: ExternalResources | undefined;
  /** Chooses the sandbox for Python; by default the best one that works on this machine. */
  readonly python?: () => Promise<SandboxChoice>;
}

/** Connections and workers of external tools: one per run, shared by its tasks, closed at its end. */
export interface ExternalResources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Loaded at the first use: the MCP SDK takes longer to load than everything else. */
  readonly mcp: () => Promise<McpConnections>;
  readonly modules: ModuleWorkers;
  /** DNS lookup; the system's by default. */
  readonly lookup?: LookupFunction | undefined;
  /** Closes all connections and ends all programs and threads. */
  close(): Promise<void>;
}

export function openExternalResources(env: ExternalResources["env"], lookup?: LookupFunction): ExternalResources {
  let mcp: Promise<McpConnections> | null = null;
  const connect = async () => {
    const { McpConnections } = await import("./mcp-connections.js");
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

/** A text argument with a maximum length. */
export function textArgument(maxChars: number) {
  return z.string().max(maxChars, `expected at most ${maxChars} characters`);
}

/** The code behind a `handler_key`. */
export interface Handler<Args = unknown, Config = unknown> {
  /** The arguments the code needs. The row's parameters_schema, which the model sees, is checked first. */
  readonly args: z.ZodType<Args>;
  /** What the tool's `handler_config`, with `agent_tools.config` over it, may hold. */
  readonly config: z.ZodType<Config>;
  /** Returns what is wrong with a config in combination with the tool's row, or undefined. */
  readonly validate?: (config: Config, tool: ToolRow) => string | undefined;
  call(args: Args, context: ToolContext, resources: ToolResources, config: Config): Promise<ToolResult> | ToolResult;
}

/** Checks a handler's types against each other, then erases them so that one table can hold all handlers. */
export function defineHandler<Args, Config>(handler: Handler<Args, Config>): Handler {
  return handler as unknown as Handler;
}
