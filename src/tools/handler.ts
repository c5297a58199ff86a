import { z } from "zod";
import type { ToolContext, ToolResult, ToolRow } from "../domain/agents/tool.js";
import type { SandboxChoice } from "../sandbox/python-sandbox.js";
import type { ExternalResources } from "./external/external-resources.js";
import type { Mailbox } from "./mailbox.js";
import type { SearchPool } from "./search-pool/search-pool.js";

/** What handlers may use. */
export interface ToolResources {
  readonly mailbox: Mailbox;
  /** Where they are given, the handlers that search mail are called on them. */
  readonly searchThreads?: SearchPool | undefined;
  /** What tools of one's own reach out with; where there is none, their calls are refused. */
  readonly outside?: ExternalResources | undefined;
  /** Where Python runs; absent: in whichever sandbox works on this machine, and nowhere else. */
  readonly python?: () => Promise<SandboxChoice>;
}

/** A text of a call: longer ones are refused, as no mail is found by them. */
export function textArgument(maxChars: number) {
  return z.string().max(maxChars, `expected at most ${maxChars} characters`);
}

/** The code behind a `handler_key`. */
export interface Handler<Args = unknown, Config = unknown> {
  /** What the code needs of the arguments; the row's own schema, which the model sees, is checked before it. */
  readonly args: z.ZodType<Args>;
  /** What the tool's `handler_config`, with `agent_tools.config` over it, may hold. */
  readonly config: z.ZodType<Config>;
  /** Says why a config does not go with the rest of the tool's row. */
  readonly validate?: (config: Config, tool: ToolRow) => string | undefined;
  call(args: Args, context: ToolContext, resources: ToolResources, config: Config): Promise<ToolResult> | ToolResult;
}

/** Ties a handler's types together and then forgets them, so that handlers of all kinds stand in one table. */
export function defineHandler<Args, Config>(handler: Handler<Args, Config>): Handler {
  return handler as unknown as Handler;
}
