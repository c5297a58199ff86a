import type { z } from "zod";
import type { SandboxChoice } from "../sandbox/python.js";
import type { Mailbox } from "./mailbox.js";
import type { SearchPool } from "./search-pool.js";
import type { ToolContext, ToolResult, ToolRow } from "./tool.js";
import type { ExternalResources } from "./tool-connections.js";

export interface ToolResources {
  readonly mailbox: Mailbox;
  /** If present, the search handlers run on its threads. */
  readonly searchThreads?: SearchPool | undefined;
  /** For external tools; without it, their calls return an error. */
  readonly outside?: ExternalResources | undefined;
  /** Chooses the sandbox for Python; by default the best one that works on this machine. */
  readonly python?: () => Promise<SandboxChoice>;
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
