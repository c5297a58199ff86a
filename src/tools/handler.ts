import type { z } from "zod";
import type { ToolContext, ToolResult } from "../domain/tool.js";
import type { SandboxChoice } from "../sandbox/python-sandbox.js";
import type { Mailbox } from "./mailbox.js";

/** What handlers may use. */
export interface ToolResources {
  readonly mailbox: Mailbox;
  /** Where Python runs; absent: in whichever sandbox works on this machine, and nowhere else. */
  readonly python?: () => Promise<SandboxChoice>;
}

/** The code behind a `handler_key`. */
export interface Handler<Args = unknown, Config = unknown> {
  /** What the code needs of the arguments; the row's own schema, which the model sees, is checked before it. */
  readonly args: z.ZodType<Args>;
  /** What `agent_tools.config` may hold for this tool. */
  readonly config: z.ZodType<Config>;
  call(args: Args, context: ToolContext, resources: ToolResources, config: Config): Promise<ToolResult> | ToolResult;
}

/** Ties a handler's types together and then forgets them, so that handlers of all kinds stand in one table. */
export function defineHandler<Args, Config>(handler: Handler<Args, Config>): Handler {
  return handler as unknown as Handler;
}
