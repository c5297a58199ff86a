import type { ToolResult } from "../../domain/agents/tool.js";
import type { JsonObject, JsonValue } from "../../domain/json.js";
import { openWorkspace } from "../../sandbox/workspace/workspace.js";
import type { Db } from "../../store/connection/open-store.js";
import { getTool } from "../../store/registry/tool-rows.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import { toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { addInboxArgument } from "../../tools/single-inbox-tools.js";
import type { AppSettings } from "../use-case-context.js";

export interface ToolCall {
  readonly id: string;
  readonly args: JsonValue;
  /** Overrides the tool's own config, as that of an agent would. */
  readonly config: JsonObject | null;
  readonly inbox: string | null;
  /** YYYY-MM-DD: mail from this day on is invisible. */
  readonly before: string | null;
}

/** Calls a tool once, as an agent would. */
export async function testTool(
  db: Db,
  call: ToolCall,
  settings: AppSettings,
  signal: AbortSignal,
): Promise<ToolResult> {
  const stored = getTool(db, call.id);
  const config = call.config === null ? null : JSON.stringify(call.config);
  const external = openExternalResources(settings.env);
  const workspace = openWorkspace();
  try {
    const tool = toTool({ tool: stored, config }, { mailbox: openMailbox(db), outside: external });
    const inbox = call.inbox?.trim().toLowerCase() ?? null;
    return await tool.call(addInboxArgument(tool, call.args, inbox), {
      inbox,
      cutoff: call.before === null ? null : `${call.before}T00:00:00Z`,
      signal,
      workspace,
    });
  } finally {
    await Promise.all([external.close(), workspace.close()]);
  }
}
