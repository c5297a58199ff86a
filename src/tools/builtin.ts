import { commandTool } from "./command-tool.js";
import { emailGet } from "./email-get.js";
import { emailSearch } from "./email-search.js";
import { executePython } from "./execute-python.js";
import type { Handler } from "./handler.js";
import { httpTool } from "./http-tool.js";
import { listFiles } from "./list-files.js";
import { mcpTool } from "./mcp-tool.js";
import { moduleTool } from "./module-tool.js";
import { readFile } from "./read-file.js";
import { returnFinalAnswer } from "./return-final-answer.js";
import { searchEmails } from "./search-emails.js";
import { writeFile } from "./write-file.js";

/** handler_key to the code behind it. A new tool is a file beside these and a line here. */
export const HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  email_get: emailGet,
  search_emails: searchEmails,
  return_final_answer: returnFinalAnswer,
  execute_python: executePython,
  read_file: readFile,
  write_file: writeFile,
  list_files: listFiles,
  http: httpTool,
  command: commandTool,
  mcp: mcpTool,
  module: moduleTool,
};

/** What an agent without rows in agent_tools gets. */
export const DEFAULT_TOOL_IDS = ["email_search", "email_get", "return_final_answer"] as const;
