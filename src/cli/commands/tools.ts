// The commands `tools ...`: list, show, add, change and test tools.
import { z } from "zod";
import type { ImportedTools, ToolDescription } from "../../agents/add-tool.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import {
  day,
  folder,
  jsonObject,
  mailbox,
  numberAbove,
  oneOf,
  text,
  wholeNumber,
  withTraits,
  words,
} from "../../platform/flag-values.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../platform/json.js";
import { firstLine } from "../../reports/figure-text.js";
import { counted, table } from "../../text/format.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { textOrFile } from "../flags/read-text.js";
import type { Output } from "../terminal.js";

const toolId = withTraits(text, { completes: "tools" }).meta({ description: "Tool id" });

export const listToolsCommand = defineCommand(
  z.object({ category: text.optional().meta({ placeholder: "NAME", description: "Only tools of this category" }) }),
  async ({ category = null }, { settings, out }) => {
    const { listTools } = await import("../../tools/tools-store.js");
    const { readRegistry } = await import("../../agents/registry-store.js");
    const tools = await readRegistry(settings, (db) => listTools(db, category));
    out.result(tools, () =>
      table(
        ["id", "category", "handler", "name"],
        tools.map((tool) => [tool.id, tool.category, tool.handlerKey, tool.name]),
      ),
    );
  },
);

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const names = words;

/** Tool settings for adding and changing a tool. */
const toolShape = {
  category: text.optional().meta({ placeholder: "NAME", description: "Category [default: general]" }),
  name: text.optional().meta({ description: "Name [default: the id]" }),
  description: text.optional().meta({ placeholder: "TEXT", description: "Description for the model" }),
  parameters: text
    .optional()
    .meta({ placeholder: "JSON", description: "JSON Schema of the arguments, or @FILE [default: none]" }),
  http: text
    .optional()
    .meta({ placeholder: "URL", description: "URL. {{argument}} is replaced by the URL-encoded argument" }),
  method: oneOf(METHODS)
    .optional()
    .meta({ description: `With --http: method (${METHODS.join(", ")}) [default: GET]` }),
  headers: jsonObject.optional().meta({
    placeholder: "JSON",
    description: `With --http, --mcp: headers as a JSON object. \${ENV:NAME} is read from the environment on each call`,
  }),
  allowPrivate: z.boolean().optional().meta({ description: "With --http: allow private and loopback addresses" }),
  command: text.optional().meta({
    placeholder: "COMMAND",
    description: "Program that reads JSON from stdin and writes JSON to stdout (without a shell)",
  }),
  cwd: folder.optional().meta({ description: "With --command: working directory [default: the current one]" }),
  module: text.optional().meta({
    placeholder: "FILE",
    description: "TypeScript or JavaScript file that exports call, description and parameters",
  }),
  env: names.optional().meta({
    placeholder: "NAME,NAME",
    description: "With --command, --module, --mcp: environment variables to pass on, separated by commas",
  }),
  config: jsonObject
    .optional()
    .meta({ placeholder: "JSON", description: "For a built-in handler: JSON object, like handler_config over HTTP" }),
  timeout: numberAbove(0, 600)
    .optional()
    .meta({ placeholder: "SECONDS", description: "Timeout per call in seconds [default: 30]" }),
  maxBytes: wholeNumber(1, 100_000_000)
    .optional()
    .meta({ description: "Maximum size of a result in bytes [default: 1000000]" }),
  maxResultChars: wholeNumber(100, 1_000_000)
    .optional()
    .meta({ description: "Maximum characters of a result for the model [default: 20000]" }),
  resultSchema: text.optional().meta({ placeholder: "JSON", description: "JSON Schema for the results, or @FILE" }),
};

const addToolSchema = z.object({
  id: text.optional().meta({ description: "Id of the new tool (not with --mcp)" }),
  ...toolShape,
  handlerKey: text.optional().meta({
    description: "Built-in handler, such as email_search. Parameters and description default to those of its tool",
  }),
  mcp: text
    .optional()
    .meta({ placeholder: "SERVER", description: "MCP server (a program or a URL). Adds all of its tools" }),
  prefix: text.optional().meta({ description: "With --mcp: prefix for the tool ids [default: the server's name]" }),
});

type AddFlags = z.output<typeof addToolSchema>;

/** Converts flags for the registry, and reads the contents of `@FILE`. */
function toolDescription(
  flags: z.output<z.ZodObject<typeof toolShape>> & { readonly mcp?: string | undefined },
): ToolDescription {
  const { parameters, resultSchema, ...others } = flags;
  return {
    ...others,
    parameters: parameters === undefined ? undefined : readJson(parameters, "--parameters"),
    resultSchema: resultSchema === undefined ? undefined : readJson(resultSchema, "--result-schema"),
  };
}

/** Parses a JSON object from the flag's value or from `@FILE`. */
function readJson(text: string, flag: string): JsonObject {
  const json = textOrFile(text, flag);
  let parsed: JsonValue;
  try {
    parsed = jsonValueSchema.parse(JSON.parse(json));
  } catch (cause) {
    throw new UserError("flag_invalid", `${flag}: expected JSON.`, "Pass a JSON object, or @FILE.", 2, { cause });
  }
  const object = jsonObjectSchema.safeParse(parsed);
  if (object.success) return object.data;
  throw new UserError("flag_invalid", `${flag}: expected a JSON object.`, "Pass a JSON Schema of type object.");
}

export const testToolCommand = defineCommand(
  z.object({
    id: toolId,
    arguments: text.optional().meta({ description: "Arguments as a JSON object [default: {}]" }),
    config: jsonObject.optional().meta({
      placeholder: "JSON",
      description: "JSON object that overrides the tool's config, like an agent's config",
    }),
    inbox: mailbox.optional().meta({ description: "Call it like in a task for this mailbox" }),
    before: day.optional().meta({ description: "Hide emails of this date and later ones (YYYY-MM-DD)" }),
  }),
  async ({ id, arguments: json = "{}", config = null, inbox = null, before = null }, { settings, out, signal }) => {
    const call = { id, args: readArguments(json), config, inbox, before };
    const { testTool } = await import("../../agents/add-tool.js");
    const { resultValue } = await import("../../tools/tool.js");
    const { readRegistry } = await import("../../agents/registry-store.js");
    const result = await readRegistry(settings, (db) => testTool(db, call, settings, signal));
    out.result(result, () => (result.ok ? asText(resultValue(result)) : `${result.kind}: ${result.error}`));
    return result.ok ? EXIT.done : EXIT.failed;
  },
);

function readArguments(json: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(json));
  } catch (cause) {
    throw new UserError(
      "flag_invalid",
      "ARGUMENTS: expected a JSON object.",
      `Quote it for the shell: ${commandLine`art-e tools test ID '{"key": "value"}'`}`,
      2,
      { cause },
    );
  }
}

function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export const setToolCommand = defineCommand(
  z.object({ id: toolId, ...toolShape }),
  async ({ id, ...flags }, { settings, out, signal }) => {
    const description = toolDescription(flags);
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { changeTool } = await import("../../agents/add-tool.js");
    await changeRegistry(settings, (db) => changeTool(db, id, description, settings, signal));
    printToolChange(id, "Changed", out);
  },
);

export const deleteToolCommand = defineCommand(z.object({ id: toolId }), async ({ id }, { settings, out }) => {
  const { changeRegistry } = await import("../../agents/registry-store.js");
  const { deleteTool } = await import("../../agents/registry.js");
  await changeRegistry(settings, (db) => deleteTool(db, id));
  out.result({ id, deleted: true }, () => `Deleted tool ${id}.`);
});

export const showToolCommand = defineCommand(z.object({ id: toolId }), async ({ id }, { settings, out }) => {
  const { getTool, listAgentsWithTool } = await import("../../tools/tools-store.js");
  const { readRegistry } = await import("../../agents/registry-store.js");
  const { agents, ...tool } = await readRegistry(settings, (db) => ({
    ...getTool(db, id),
    agents: listAgentsWithTool(db, id).map((agent) => agent.id),
  }));
  const config = Object.keys(tool.handlerConfig).length === 0 ? [] : [JSON.stringify(tool.handlerConfig, null, 2)];
  out.result({ ...tool, agents }, () =>
    [
      `${tool.id}: ${tool.name}`,
      tool.description,
      "",
      `Category: ${tool.category}`,
      `Handler:  ${tool.handlerKey}`,
      `Agents:   ${agents.length === 0 ? "none" : agents.join(", ")}`,
      ...config.flatMap((json) => ["", "Config:", json]),
      "",
      "Parameters:",
      JSON.stringify(tool.parametersSchema, null, 2),
    ].join("\n"),
  );
});

export const addToolCommand = defineCommand(
  addToolSchema,
  async ({ id, prefix = null, ...flags }, { settings, out, signal }) => {
    const { kindOf } = await import("../../agents/add-tool.js");
    const kind = kindOf(flags);
    if (kind === null) {
      throw new UserError(
        "flag_missing",
        "tools add: the tool itself is required.",
        "Pass one of --http URL, --command PROGRAM, --module FILE, --handler-key KEY, --mcp SERVER.",
      );
    }
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { addServerTools, addTool } = await import("../../agents/add-tool.js");
    if (kind === "mcp") {
      refuseNames({ id, ...flags });
      const description = toolDescription(flags);
      const imported = await changeRegistry(settings, (db) =>
        addServerTools(db, description, prefix, settings, signal),
      );
      printImported(imported, out);
      return;
    }
    if (id === undefined) throw new UserError("flag_missing", "tools add needs ID.", "Pass an id for the new tool.");
    const description = toolDescription(flags);
    const tool = await changeRegistry(settings, (db) => addTool(db, id, description, settings, signal));
    printToolChange(tool.id, "Added", out);
  },
);

/** Throws a UserError for flags that set names or schemas of an MCP server's tools. They come from the server. */
function refuseNames(flags: AddFlags): void {
  const names = ["id", "name", "description", "parameters", "category"] as const;
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong === undefined) return;
  throw contradiction(
    `${wrong === "id" ? "ID" : `--${wrong}`} cannot be combined with --mcp, which takes names and schemas from its server.`,
    "Pass a prefix for the tool ids with --prefix.",
  );
}

function printImported({ added, skipped }: ImportedTools, out: Output): void {
  out.result({ added: added.map(({ id }) => id), skipped }, () =>
    [
      `${counted(added.length, "tool")} added${added.length === 0 ? "." : ":"}`,
      ...added.map(({ id, description }) => `  ${id}: ${firstLine(description, 100)}`),
      ...skipped.map(({ name, why }) => `Left out: ${name}: ${why}`),
    ].join("\n"),
  );
}

function printToolChange(id: string, change: "Added" | "Changed", out: Output): void {
  out.result(
    { id },
    () =>
      `${change} tool ${id}. Test it: ${commandLine`art-e tools test ${id} '{…}'`}\nAttach it: ${commandLine`art-e agents attach AGENT ${id}`}`,
  );
}
