import { resolve } from "node:path";
import { UserError } from "../../domain/errors.js";
import { type JsonObject, jsonObjectSchema } from "../../domain/json.js";
import { flagName } from "../../platform/flag-name.js";
import { splitShellWords } from "../../platform/shell-words.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import type { AppSettings } from "../use-case-context.js";
import type { NewTool } from "./edit-tools.js";
import { describeModule } from "./import-tools.js";

const TOOL_KINDS = ["http", "command", "module", "mcp"] as const;

export type ToolKind = (typeof TOOL_KINDS)[number];

/** A tool of the user's own, as flags describe it. */
export interface ToolDescription {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly category?: string | undefined;
  readonly parameters?: JsonObject | undefined;
  readonly http?: string | undefined;
  readonly method?: string | undefined;
  readonly headers?: JsonObject | undefined;
  readonly allowPrivate?: boolean | undefined;
  readonly command?: string | undefined;
  readonly cwd?: string | undefined;
  readonly module?: string | undefined;
  readonly mcp?: string | undefined;
  readonly env?: readonly string[] | undefined;
  /** Seconds. */
  readonly timeout?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly maxResultChars?: number | undefined;
  readonly resultSchema?: JsonObject | undefined;
}

/** Fields that only some kinds of tool have. */
const KINDS_OF_FIELD: Readonly<Partial<Record<keyof ToolDescription, readonly string[]>>> = {
  method: ["http"],
  headers: ["http", "mcp"],
  allowPrivate: ["http"],
  cwd: ["command"],
  env: ["command", "module", "mcp"],
};

/** The kind of tool that is described; null where the description names none. */
export function kindOf(described: ToolDescription): ToolKind | null {
  const [kind, other] = TOOL_KINDS.filter((name) => described[name] !== undefined);
  if (other === undefined) return kind ?? null;
  throw new UserError("flags_contradict", `--${kind} and --${other} name two tools.`, "Add them one after the other.");
}

export function refuseFieldsOfOtherKinds(described: ToolDescription, kind: string): void {
  for (const [name, kinds] of Object.entries(KINDS_OF_FIELD)) {
    if (described[name as keyof ToolDescription] === undefined || kinds.includes(kind)) continue;
    throw new UserError(
      "flags_contradict",
      `${flagName(name)} is not for a tool of the kind ${kind}.`,
      `It is for: ${kinds.join(", ")}.`,
    );
  }
}

/** The columns of a tool beside its handler. A module describes itself; flags override that. */
export async function describedColumns(
  described: ToolDescription,
  { env }: AppSettings,
  signal: AbortSignal,
): Promise<Partial<Pick<NewTool, "name" | "description" | "category" | "parametersSchema">>> {
  const { name, description, category, parameters, module } = described;
  const fromModule = module === undefined ? {} : await columnsOfModule(module, described.env ?? [], env, signal);
  return { ...fromModule, ...defined({ name, description, category, parametersSchema: parameters }) };
}

async function columnsOfModule(file: string, names: readonly string[], env: AppSettings["env"], signal: AbortSignal) {
  const external = openExternalResources(env);
  try {
    const { name, description, parameters } = await describeModule(resolve(file), names, external, signal);
    return {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof description === "string" ? { description } : {}),
      ...(parameters === undefined ? {} : { parametersSchema: parametersOf(parameters, file) }),
    };
  } finally {
    await external.close();
  }
}

function parametersOf(exported: unknown, file: string): JsonObject {
  const object = jsonObjectSchema.safeParse(exported);
  if (object.success) return object.data;
  throw new UserError(
    "flag_invalid",
    `${file}: parameters: expected a JSON object.`,
    "A JSON Schema of type object is one.",
  );
}

/** The handler's config that a description makes. */
export function handlerConfig(described: ToolDescription, kind: string): JsonObject {
  const { http, method, headers, allowPrivate, command, cwd, module, env } = described;
  return jsonObjectSchema.parse({
    ...defined({
      url: http,
      method,
      headers,
      allowPrivate,
      command: command === undefined ? undefined : splitShellWords(command, "--command"),
      cwd: cwd === undefined ? undefined : resolve(cwd),
      module: module === undefined ? undefined : resolve(module),
      // The environment of an MCP server is part of its address.
      env: kind === "mcp" ? undefined : env,
    }),
    ...callLimits(described),
  });
}

/** The limits of each call, as part of a handler's config. */
export function callLimits({ timeout, maxBytes, maxResultChars, resultSchema }: ToolDescription): JsonObject {
  const timeoutMs = timeout === undefined ? undefined : Math.ceil(timeout * 1_000);
  return jsonObjectSchema.parse(defined({ timeoutMs, maxBytes, maxResultChars, resultSchema }));
}

/** An MCP server: an address, or a program with its arguments. */
export function mcpServer({ mcp = "", headers, env }: ToolDescription): JsonObject {
  const isUrl = /^https?:\/\//i.test(mcp);
  const address = isUrl ? { url: mcp } : { command: splitShellWords(mcp, "--mcp") };
  return jsonObjectSchema.parse(defined({ ...address, headers, env }));
}

function defined<T extends Readonly<Record<string, unknown>>>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
