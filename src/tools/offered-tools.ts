import type { Tool, ToolContext } from "../domain/agents/tool.js";
import type { Db } from "../store/connection/open-store.js";
import { getTool } from "../store/registry/tool-rows.js";
import { toTool } from "./load-tools.js";
import { MAILBOX_TOOL_IDS, singleInboxTools } from "./single-inbox-tools.js";
import type { ToolResources } from "./tool-handler.js";

const MACHINE_TOOL_IDS = [
  "run_shell",
  "execute_python",
  "read_file",
  "write_file",
  "list_files",
  "run_notebook",
  "search_documents",
];

/** Ids of the tools that a program is offered for its task, by what the task has. */
export function offeredToolIds({ mailbox, machine }: { readonly mailbox: boolean; readonly machine: boolean }) {
  return [...(mailbox ? MAILBOX_TOOL_IDS : []), ...(machine ? MACHINE_TOOL_IDS : [])];
}

/** The tools that a program is offered for its task: those of its mailbox, and those of its machine. */
export function offeredTools(db: Db, resources: ToolResources): (context: ToolContext) => readonly Tool[] {
  const ofMailbox = singleInboxTools(db, resources);
  const ofMachine = MACHINE_TOOL_IDS.map((id) => toTool({ tool: getTool(db, id), config: null }, resources));
  return ({ inbox, machine }) => [...(inbox === null ? [] : ofMailbox), ...(machine === undefined ? [] : ofMachine)];
}
