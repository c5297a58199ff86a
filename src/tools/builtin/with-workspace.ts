import type { ToolContext, ToolResult } from "../../domain/agents/tool.js";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { WorkspaceRefusal } from "../../sandbox/workspace/workspace-error.js";
import { toolError } from "../open-mailbox.js";

/** Runs a file tool in the task's workspace. Errors the agent can fix become error results. */
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
