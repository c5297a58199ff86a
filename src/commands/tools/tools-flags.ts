import { z } from "zod";
import type { Flags } from "../cli/command.js";
import { above, day, jsonObject, oneOf, text, whole } from "../cli/read-flags.js";

export const TOOL_ACTIONS = ["list", "show", "add", "set", "delete", "test"] as const;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const names = z.string().transform((list) => list.split(/[\s,]+/).filter((name) => name !== ""));

export const toolsSchema = z.object({
  action: oneOf(TOOL_ACTIONS),
  id: text.optional(),
  arguments: text.optional(),
  category: text.optional(),
  name: text.optional(),
  description: text.optional(),
  parameters: text.optional(),
  http: text.optional(),
  method: oneOf(METHODS).optional(),
  headers: jsonObject.optional(),
  allowPrivate: z.boolean().optional(),
  command: text.optional(),
  cwd: text.optional(),
  module: text.optional(),
  mcp: text.optional(),
  prefix: text.optional(),
  env: names.optional(),
  timeout: above(0, 600).optional(),
  maxBytes: whole(1, 100_000_000).optional(),
  maxResultChars: whole(100, 1_000_000).optional(),
  resultSchema: text.optional(),
  config: jsonObject.optional(),
  inbox: text.optional(),
  before: day.optional(),
});

export type ToolFlags = z.output<typeof toolsSchema>;

const NEW: readonly (keyof ToolFlags)[] = [
  "id",
  "category",
  "name",
  "description",
  "parameters",
  "http",
  "method",
  "headers",
  "allowPrivate",
  "command",
  "cwd",
  "module",
  "env",
  "timeout",
  "maxBytes",
  "maxResultChars",
  "resultSchema",
];

/** The flags that each action takes. */
export const TAKES: Readonly<Record<(typeof TOOL_ACTIONS)[number], readonly (keyof ToolFlags)[]>> = {
  list: ["category"],
  show: ["id"],
  add: [...NEW, "mcp", "prefix"],
  set: NEW,
  delete: ["id"],
  test: ["id", "arguments", "config", "inbox", "before"],
};

const value = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

export const TOOLS_FLAGS: Flags = {
  category: value("list: only this category; add, set: its category [default: own]"),
  name: value("add, set: what it is called [default: its id]"),
  description: value("add, set: what the model reads of it"),
  parameters: value("add, set: JSON Schema of its arguments, or @FILE [default: none]"),
  http: value("add, set: a web address; {{argument}} is put in URL-encoded"),
  method: value(`add, set: of --http: ${METHODS.join(", ")} [default: GET]`),
  headers: value(`add, set: of --http, --mcp: a JSON object; \${ENV:NAME} is taken from the environment at each call`),
  "allow-private": { type: "boolean", describe: "add, set: of --http: private and loopback addresses may be asked" },
  command: value("add, set: a program that reads JSON on stdin and writes JSON on stdout; no shell"),
  cwd: value("add, set: of --command: its working folder [default: where art-e is run]"),
  module: value("add, set: a TypeScript or JavaScript file that exports call, description and parameters"),
  mcp: value("add: an MCP server, a program or an address; all of its tools are added"),
  prefix: value("add: of --mcp: begins the ids of its tools [default: the server's name]"),
  env: value("add, set: variables of the environment that it is given, separated by commas"),
  timeout: { type: "number", requiresArg: true, describe: "add, set: seconds a call may take [default: 30]" },
  "max-bytes": { type: "number", requiresArg: true, describe: "add, set: bytes it may answer with [default: 1000000]" },
  "max-result-chars": {
    type: "number",
    requiresArg: true,
    describe: "add, set: characters of a result that the model gets [default: 20000]",
  },
  "result-schema": value("add, set: JSON Schema that every result must fit, or @FILE"),
  config: value("test: a JSON object, laid over the tool's config as an agent's would be"),
  inbox: value("test: as in a task of this mailbox"),
  before: value("test: mail from this day on is invisible"),
};
