import type { Db } from "../store/connection/open-store.js";
import { type AttachedTool, getTool, listAttachedTools } from "../store/registry/tool-rows.js";

/** What an agent without rows in agent_tools gets. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;

/** The tools of an agent, or those that an agent without any of its own gets. */
export function attachedOrDefault(db: Db, agentId: string): AttachedTool[] {
  const attached = listAttachedTools(db, agentId);
  return attached.length > 0 ? attached : DEFAULT_TOOL_IDS.map((id) => ({ tool: getTool(db, id), config: null }));
}
