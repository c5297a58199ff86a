import { commandTool } from "./command-tool.js";
import type { Handler } from "./handler.js";
import { httpTool } from "./http-tool.js";
import { MAIL_HANDLERS } from "./mail-handlers.js";
import { mcpTool } from "./mcp-tool.js";
import { moduleTool } from "./module-tool.js";
import { returnFinalAnswer } from "./return-final-answer.js";
import { unavailable } from "./unavailable.js";

/** handler_key to the code behind it. A new tool is a file beside these and a line here. */
export const HANDLERS: Readonly<Record<string, Handler>> = {
  ...MAIL_HANDLERS,
  return_final_answer: returnFinalAnswer,
  execute_python: unavailable,
  read_file: unavailable,
  write_file: unavailable,
  list_files: unavailable,
  http: httpTool,
  command: commandTool,
  mcp: mcpTool,
  module: moduleTool,
};

/** What an agent without rows in agent_tools gets. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;
