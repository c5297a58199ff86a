import { z } from "zod";
import type { ToolDescription } from "../../app/registry/external-tools.js";
import { UserError } from "../../domain/errors.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../domain/json.js";
import type { Flags } from "../cli/command.js";
import { wordList } from "../cli/list-flags.js";
import { jsonObject, numberAbove, oneOf, text, wholeNumber } from "../cli/read-flags.js";
import { readText } from "../cli/read-text.js";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const names = z.string().transform(wordList);

/** What can be set of a tool, when it is added and later. */
export const toolShape = {
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

export const TOOL_ID = { type: "string", describe: "The tool's id" } as const;

export const TOOL_FLAGS: Flags = {
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
export function toolDescription(
  flags: z.output<typeof toolSchema> & { readonly mcp?: string | undefined },
): ToolDescription {
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
