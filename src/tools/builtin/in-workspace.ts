import type { ToolContext, ToolResult } from "../../domain/agents/tool.js";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { WorkspaceRefusal } from "../../sandbox/workspace-error.js";
import { toolError } from "../mailbox.js";

/** Does a file tool's work in the task's workspace; what the agent can put right becomes a result that says it. */
export async function inWorkspace(
  { workspace }: ToolContext,
  work: (folders: WorkspaceFolders) => Promise<ToolResult>,
): Promise<ToolResult> {
  if (workspace === undefined) return toolError("failed", NO_WORKSPACE);
  try {
    return await workspace.use(work);
  } catch (error) {
    if (error instanceof WorkspaceRefusal) return toolError("bad_arguments", error.message);
    throw error;
  }
}

export const NO_WORKSPACE = "There is no workspace here. Go on without files.";
