import { z } from "zod";
import type { ImportedTools, ToolDescription } from "../../agents/add-tool.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../platform/json.js";
import { stripControls } from "../../platform/text.js";
import { table } from "../../text/format.js";
import type { Command, Flags } from "../command.js";
import { day, jsonObject, numberAbove, oneOf, readFlags, text, wholeNumber, wordList } from "../read-flags.js";
import { readText } from "../read-text.js";
import type { Output } from "../terminal.js";

const listToolsSchema = z.object({ category: text.optional() });

export const listToolsCommand: Command = {
  flags: { category: { type: "string", requiresArg: true, describe: "Only tools of this category" } },
  async run(argv, { settings, out }) {
    const { category = null } = readFlags("tools list", listToolsSchema, argv);
    const { listTools } = await import("../../tools/tool.js");
    const { readRegistry } = await import("../../agents/registry-store.js");
    const tools = await readRegistry(settings, (db) => listTools(db, category));
    out.result(tools, () =>
      table(
        ["id", "category", "handler", "name"],
        tools.map((tool) => [tool.id, tool.category, tool.handlerKey, tool.name]),
      ),
    );
    return EXIT.done;
  },
};

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const names = z.string().transform(wordList);

/** What can be set of a tool, when it is added and later. */
const toolShape = {
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
  env: names.optional(),
  timeout: numberAbove(0, 600).optional(),
  maxBytes: wholeNumber(1, 100_000_000).optional(),
  maxResultChars: wholeNumber(100, 1_000_000).optional(),
  resultSchema: text.optional(),
};

const toolSchema = z.object(toolShape);

const value = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

const TOOL_ID = { type: "string", describe: "The tool's id" } as const;

const TOOL_FLAGS: Flags = {
  category: value("Its category [default: own]"),
  name: value("Its name [default: its id]"),
  description: value("What the model reads about it"),
  parameters: value("JSON Schema of its arguments, or @FILE [default: none]"),
  http: value("A web address; {{argument}} is replaced by the URL-encoded argument"),
  method: value(`With --http: ${METHODS.join(", ")} [default: GET]`),
  headers: value(`With --http, --mcp: a JSON object; \${ENV:NAME} is read from the environment at each call`),
  "allow-private": { type: "boolean", describe: "With --http: allow private and loopback addresses" },
  command: value("A program that reads JSON on stdin and writes JSON on stdout; run without a shell"),
  cwd: value("With --command: its working folder [default: where art-e is run]"),
  module: value("A TypeScript or JavaScript file that exports call, description and parameters"),
  env: value("With --command, --module, --mcp: variables that it gets from the environment, separated by commas"),
  timeout: { type: "number", requiresArg: true, describe: "Seconds per call [default: 30]" },
  "max-bytes": { type: "number", requiresArg: true, describe: "Bytes of a result [default: 1000000]" },
  "max-result-chars": {
    type: "number",
    requiresArg: true,
    describe: "Characters of a result that the model gets [default: 20000]",
  },
  "result-schema": value("JSON Schema that every result must match, or @FILE"),
};

/** The flags as the registry takes them, with the files of `@FILE` read. */
function toolDescription(flags: z.output<typeof toolSchema> & { readonly mcp?: string | undefined }): ToolDescription {
  const { parameters, resultSchema, ...others } = flags;
  return {
    ...others,
    parameters: parameters === undefined ? undefined : readJson(parameters, "--parameters"),
    resultSchema: resultSchema === undefined ? undefined : readJson(resultSchema, "--result-schema"),
  };
}

/** A JSON object, or that of `@FILE`. */
function readJson(written: string, flag: string): JsonObject {
  const json = written.startsWith("@") ? readText(written.slice(1), flag) : written;
  let parsed: JsonValue;
  try {
    parsed = jsonValueSchema.parse(JSON.parse(json));
  } catch (cause) {
    throw new UserError("flag_invalid", `${flag}: expected JSON.`, "Give a JSON object, or @FILE.", 2, { cause });
  }
  const object = jsonObjectSchema.safeParse(parsed);
  if (object.success) return object.data;
  throw new UserError("flag_invalid", `${flag}: expected a JSON object.`, "A JSON Schema of type object is one.");
}

const tryToolSchema = z.object({
  id: text,
  arguments: text.optional(),
  config: jsonObject.optional(),
  inbox: text.optional(),
  before: day.optional(),
});

export const testToolCommand: Command = {
  positionals: { id: TOOL_ID, arguments: { type: "string", describe: "Its arguments as a JSON object [default: {}]" } },
  flags: {
    config: {
      type: "string",
      requiresArg: true,
      describe: "A JSON object that overrides the tool's config, as an agent's would",
    },
    inbox: { type: "string", requiresArg: true, describe: "As in a task of this mailbox" },
    before: { type: "string", requiresArg: true, describe: "Hide mail from this day on, YYYY-MM-DD" },
  },
  async run(argv, { settings, out, signal }) {
    const {
      id,
      arguments: json = "{}",
      config = null,
      inbox = null,
      before = null,
    } = readFlags("tools test", tryToolSchema, argv);
    const call = { id, args: readArguments(json), config, inbox, before };
    const { testTool } = await import("../../agents/add-tool.js");
    const { readRegistry } = await import("../../agents/registry-store.js");
    const result = await readRegistry(settings, (db) => testTool(db, call, settings, signal));
    out.result(result, () => stripControls(result.ok ? asText(result.value) : `${result.kind}: ${result.error}`));
    return result.ok ? EXIT.done : EXIT.failed;
  },
};

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

const setToolSchema = z.object({ id: text, ...toolShape });

export const setToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: TOOL_FLAGS,
  async run(argv, { settings, out, signal }) {
    const { id, ...flags } = readFlags("tools set", setToolSchema, argv);
    const described = toolDescription(flags);
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { changeTool } = await import("../../agents/add-tool.js");
    await changeRegistry(settings, (db) => changeTool(db, id, described, settings, signal));
    printToolChange(id, "changed", out);
    return EXIT.done;
  },
};

const deleteToolSchema = z.object({ id: text });

export const deleteToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("tools delete", deleteToolSchema, argv);
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { deleteTool } = await import("../../agents/registry.js");
    await changeRegistry(settings, (db) => deleteTool(db, id));
    out.result({ id, deleted: true }, () => `Tool ${id} is deleted.`);
    return EXIT.done;
  },
};

export const showToolCommand: Command = {
  positionals: { id: TOOL_ID },
  flags: {},
  async run(argv, { settings, out }) {
    const { id } = readFlags("tools show", deleteToolSchema, argv);
    const { getTool, listAgentsWithTool } = await import("../../tools/tool.js");
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
    return EXIT.done;
  },
};

const addToolSchema = z.object({ id: text.optional(), ...toolShape, mcp: text.optional(), prefix: text.optional() });

type AddFlags = z.output<typeof addToolSchema>;

export const addToolCommand: Command = {
  positionals: { id: { ...TOOL_ID, describe: "The new tool's id; none with --mcp" } },
  flags: {
    ...TOOL_FLAGS,
    mcp: { type: "string", requiresArg: true, describe: "An MCP server, a program or an address: adds all its tools" },
    prefix: {
      type: "string",
      requiresArg: true,
      describe: "With --mcp: prefix of the ids of its tools [default: the server's name]",
    },
  },
  async run(argv, { settings, out, signal }) {
    const { id, prefix = null, ...flags } = readFlags("tools add", addToolSchema, argv);
    const { kindOf } = await import("../../agents/add-tool.js");
    const kind = kindOf({ ...flags, parameters: undefined, resultSchema: undefined });
    if (kind === null) {
      throw new UserError(
        "flag_missing",
        "tools add needs the tool itself.",
        "Name one of --http URL, --command PROGRAM, --module FILE, --mcp SERVER.",
      );
    }
    const { changeRegistry } = await import("../../agents/registry-store.js");
    const { addServerTools, addTool } = await import("../../agents/add-tool.js");
    if (kind === "mcp") {
      refuseNames({ id, ...flags });
      const described = toolDescription(flags);
      const imported = await changeRegistry(settings, (db) => addServerTools(db, described, prefix, settings, signal));
      printImported(imported, out);
      return EXIT.done;
    }
    if (id === undefined) throw new UserError("flag_missing", "tools add needs ID.", "Choose one for the new tool.");
    const described = toolDescription(flags);
    const tool = await changeRegistry(settings, (db) => addTool(db, id, described, settings, signal));
    printToolChange(tool.id, "added", out);
    return EXIT.done;
  },
};

/** The names and schemas of a server's tools come from the server. */
function refuseNames(flags: AddFlags): void {
  const names = ["id", "name", "description", "parameters", "category"] as const;
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong === undefined) return;
  throw new UserError(
    "flags_contradict",
    `--mcp takes names and schemas from its server: ${wrong === "id" ? `"${flags.id}"` : `--${wrong}`} cannot be given too.`,
    "Choose how their ids begin with --prefix.",
  );
}

function printImported({ added, skipped }: ImportedTools, out: Output): void {
  out.result({ added: added.map(({ id }) => id), skipped }, () =>
    [
      `${added.length} tools are added${added.length === 0 ? "." : ":"}`,
      ...added.map(({ id, description }) => `  ${id}: ${firstLine(description)}`),
      ...skipped.map(({ name, why }) => `Left out: ${name}: ${why}`),
    ].join("\n"),
  );
}

function firstLine(description: string): string {
  const [line = ""] = description.trim().split("\n");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

function printToolChange(id: string, change: "added" | "changed", out: Output): void {
  out.result(
    { id },
    () =>
      `Tool ${id} is ${change}. Test it: ${commandLine`art-e tools test ${id} '{…}'`}\nAttach it: ${commandLine`art-e agents attach AGENT ${id}`}`,
  );
}
