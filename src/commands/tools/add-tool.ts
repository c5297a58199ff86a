import { resolve } from "node:path";
import { describeModule, importServerTools } from "../../app/registry/import-tools.js";
import { createTool, type NewTool, updateTool } from "../../app/registry/tools.js";
import type { StoredTool } from "../../domain/agents/tool.js";
import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../domain/json.js";
import { splitShellWords } from "../../platform/shell-words.js";
import type { Db } from "../../store/connection/open-store.js";
import { getTool } from "../../store/registry/tools.js";
import { openExternalResources } from "../../tools/external/external-resources.js";
import type { CommandContext } from "../cli/command.js";
import { readText } from "../cli/read-text.js";
import { needId } from "../cli/subcommand-args.js";
import type { ToolFlags } from "./tools-flags.js";

const KINDS = ["http", "command", "module", "mcp"] as const;

/** Flags that only some kinds of tool take. */
const ONLY: Readonly<Partial<Record<keyof ToolFlags, readonly string[]>>> = {
  method: ["http"],
  headers: ["http", "mcp"],
  allowPrivate: ["http"],
  cwd: ["command"],
  env: ["command", "module", "mcp"],
};

export async function addTool(db: Db, flags: ToolFlags, door: CommandContext): Promise<ExitCode> {
  const kind = kindOf(flags);
  if (kind === null) {
    throw new UserError(
      "flag_missing",
      "tools add is not told what the tool is.",
      "Name one of --http URL, --command PROGRAM, --module FILE, --mcp SERVER.",
    );
  }
  refuseStrangers(flags, kind);
  if (kind === "mcp") return addServer(db, flags, door);
  const id = needId(flags.id, "tools", "add");
  const own = await rowOf(flags, kind, door);
  const { description } = own;
  if (description === undefined) {
    throw new UserError("flag_missing", "tools add needs a --description: the model reads it.", "Say what it does.");
  }
  const tool = createTool(db, { id, handlerKey: kind, ...own, description, handlerConfig: configOf(flags, kind) });
  return tell(tool, "added", door);
}

export async function setTool(db: Db, flags: ToolFlags, door: CommandContext): Promise<ExitCode> {
  const before = getTool(db, needId(flags.id, "tools", "set"));
  const kind = kindOf(flags);
  if (kind !== null && kind !== before.handlerKey) {
    throw new UserError(
      "flags_contradict",
      `Tool "${before.id}" is a tool of the kind ${before.handlerKey}: --${kind} would make another tool of it.`,
      "Add a new tool.",
    );
  }
  refuseStrangers(flags, before.handlerKey);
  const config = configOf(flags, before.handlerKey);
  const row = await rowOf(flags, kind, door);
  if (Object.keys({ ...config, ...row }).length === 0) {
    throw new UserError("flag_missing", "tools set is told nothing to change.", "See art-e tools --help.");
  }
  return tell(
    updateTool(db, before.id, { ...row, handlerConfig: { ...before.handlerConfig, ...config } }),
    "changed",
    door,
  );
}

async function addServer(db: Db, flags: ToolFlags, { settings, out, signal }: CommandContext): Promise<ExitCode> {
  const wrong = (["id", "name", "description", "parameters", "category"] as const).find(
    (key) => flags[key] !== undefined,
  );
  if (wrong !== undefined) {
    throw new UserError(
      "flags_contradict",
      `--mcp adds tools under the names that its server gives: ${wrong === "id" ? `"${flags.id}"` : `--${wrong}`} has no say in it.`,
      "Choose how their ids begin with --prefix.",
    );
  }
  const outside = openExternalResources(settings.env);
  try {
    const request = { server: serverOf(flags), prefix: flags.prefix ?? null, handlerConfig: limitsOf(flags) };
    const { added, skipped } = await importServerTools(db, request, outside, signal);
    out.result({ added: added.map(({ id }) => id), skipped }, () =>
      [
        `${added.length} tools are added${added.length === 0 ? "." : ":"}`,
        ...added.map(({ id, description }) => `  ${id}: ${firstLine(description)}`),
        ...skipped.map(({ name, why }) => `Left out: ${name}: ${why}`),
      ].join("\n"),
    );
    return EXIT.done;
  } finally {
    await outside.close();
  }
}

function kindOf(flags: ToolFlags): (typeof KINDS)[number] | null {
  const [kind, other] = KINDS.filter((name) => flags[name] !== undefined);
  if (other === undefined) return kind ?? null;
  throw new UserError("flags_contradict", `--${kind} and --${other} name two tools.`, "Add them one after the other.");
}

function refuseStrangers(flags: ToolFlags, kind: string): void {
  for (const [name, kinds] of Object.entries(ONLY)) {
    if (flags[name as keyof ToolFlags] === undefined || kinds.includes(kind)) continue;
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UserError(
      "flags_contradict",
      `--${flag} is not for a tool of the kind ${kind}.`,
      `It is for: ${kinds.join(", ")}.`,
    );
  }
}

/** What stands beside the config in a tool's row; a module says it itself, where the flags do not. */
async function rowOf(flags: ToolFlags, kind: string | null, door: CommandContext) {
  const { name, description, category } = flags;
  const parameters = flags.parameters === undefined ? undefined : readJson(flags.parameters, "--parameters");
  const said = kind === "module" && flags.module !== undefined ? await askModule(flags.module, flags, door) : {};
  return {
    ...said,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(category === undefined ? {} : { category }),
    ...(parameters === undefined ? {} : { parametersSchema: parameters }),
  };
}

async function askModule(
  file: string,
  { env = [] }: ToolFlags,
  { settings, signal }: CommandContext,
): Promise<Partial<NewTool>> {
  const outside = openExternalResources(settings.env);
  try {
    const { name, description, parameters } = await describeModule(resolve(file), env, outside, signal);
    return {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof description === "string" ? { description } : {}),
      ...(parameters === undefined ? {} : { parametersSchema: asObject(parameters, `${file}: parameters`) }),
    };
  } finally {
    await outside.close();
  }
}

function configOf(flags: ToolFlags, kind: string): JsonObject {
  const { http, method, headers, allowPrivate, command, cwd, module, env } = flags;
  const own: Record<string, unknown> = {
    url: http,
    method,
    headers,
    allowPrivate,
    command: command === undefined ? undefined : splitShellWords(command, "--command"),
    cwd: cwd === undefined ? undefined : resolve(cwd),
    module: module === undefined ? undefined : resolve(module),
    env: kind === "mcp" ? undefined : env,
  };
  return jsonObjectSchema.parse({ ...given(own), ...limitsOf(flags) });
}

function limitsOf({ timeout, maxBytes, maxResultChars, resultSchema }: ToolFlags): JsonObject {
  return jsonObjectSchema.parse(
    given({
      timeoutMs: timeout === undefined ? undefined : Math.ceil(timeout * 1_000),
      maxBytes,
      maxResultChars,
      resultSchema: resultSchema === undefined ? undefined : readJson(resultSchema, "--result-schema"),
    }),
  );
}

function serverOf({ mcp = "", headers, env }: ToolFlags): JsonObject {
  const server = /^https?:\/\//i.test(mcp)
    ? { url: mcp, headers }
    : { command: splitShellWords(mcp, "--mcp"), headers };
  return jsonObjectSchema.parse(given({ ...server, env }));
}

function given(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A JSON object as it is typed, or that of `@FILE`. */
function readJson(written: string, flag: string): JsonObject {
  const text = written.startsWith("@") ? readText(written.slice(1), flag) : written;
  let value: JsonValue;
  try {
    value = jsonValueSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new UserError("flag_invalid", `${flag}: expected JSON.`, "Give a JSON object, or @FILE.", 2, { cause });
  }
  return asObject(value, flag);
}

function asObject(value: unknown, what: string): JsonObject {
  const object = jsonObjectSchema.safeParse(value);
  if (object.success) return object.data;
  throw new UserError("flag_invalid", `${what}: expected a JSON object.`, "A JSON Schema of type object is one.");
}

function tell({ id }: StoredTool, what: "added" | "changed", { out }: CommandContext): ExitCode {
  out.result(
    { id },
    () =>
      `Tool ${id} is ${what}. Try it: art-e tools test ${id} '{…}'; give it to an agent: art-e agents attach AGENT ${id}.`,
  );
  return EXIT.done;
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
