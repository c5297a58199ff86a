import { applyOracle } from "./builtin/apply-oracle.js";
import { searchEmails } from "./builtin/art-tools.js";
import { emailGet } from "./builtin/email-get.js";
import { emailSearch } from "./builtin/email-search.js";
import { executePython } from "./builtin/execute-python.js";
import { listFiles } from "./builtin/list-files.js";
import { readFile } from "./builtin/read-file.js";
import { returnFinalAnswer } from "./builtin/return-final-answer.js";
import { runNotebook } from "./builtin/run-notebook.js";
import { runShell } from "./builtin/run-shell.js";
import { searchDocuments } from "./builtin/search-documents.js";
import { writeFile } from "./builtin/write-workspace-file.js";
import { commandTool } from "./external/command-tool.js";
import { httpTool } from "./external/http-tool.js";
import { mcpTool } from "./external/mcp-tool.js";
import { moduleTool } from "./external/module-tool.js";
import type { Handler } from "./tool-handler.js";

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
  run_shell: runShell,
  run_notebook: runNotebook,
  search_documents: searchDocuments,
  apply_oracle: applyOracle,
  http: httpTool,
  command: commandTool,
  mcp: mcpTool,
  module: moduleTool,
};
