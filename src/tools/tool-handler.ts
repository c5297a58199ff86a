// The type of a handler, the code behind a tool's `handler_key`, and what it can use.
import type { z } from "zod";
import type { SandboxChoice } from "../sandbox/python.js";
import type { Mailbox } from "./mailbox.js";
import type { SearchPool } from "./search-pool.js";
import type { ToolContext, ToolResult } from "./tool.js";
import type { ExternalResources } from "./tool-connections.js";
import type { ToolRow } from "./tools-store.js";

export interface ToolResources {
  readonly mailbox: Mailbox;
  /** Threads for the search handlers. Without them, searches run on the calling thread. */
  readonly searchThreads?: SearchPool | undefined;
  /** Required for external tools. Without it, their calls return an error. */
  readonly outside?: ExternalResources | undefined;
  /** Chooses the Python sandbox. Default: the best one that works on this machine. */
  readonly python?: () => Promise<SandboxChoice>;
}

/** The code behind a `handler_key`. */
export interface Handler<Args = unknown, Config = unknown> {
  /** Schema of the handler's arguments. The row's parameters_schema, which the model sees, is checked first. */
  readonly args: z.ZodType<Args>;
  /** Schema of the tool's `handler_config`, overridden by `agent_tools.config`. */
  readonly config: z.ZodType<Config>;
  /** Checks a config in combination with the tool's row. Returns the problem, or undefined if the config is valid. */
  readonly validate?: (config: Config, tool: ToolRow) => string | undefined;
  call(args: Args, context: ToolContext, resources: ToolResources, config: Config): Promise<ToolResult> | ToolResult;
  /** Completes the result of a search thread with what only this thread knows: the changes of the attempt. */
  readonly finish?: (result: ToolResult, args: Args, context: ToolContext, resources: ToolResources) => ToolResult;
}

/** Checks a handler's types against each other, then erases them so that one table can contain all handlers. */
export function defineHandler<Args, Config>(handler: Handler<Args, Config>): Handler {
  return handler as unknown as Handler;
}
