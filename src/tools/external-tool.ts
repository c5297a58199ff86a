// What all external tools share: time limits, result schemas, secrets from the environment; and module and command
// tools.
import { z } from "zod";
import { withDeadline } from "../platform/deadline.js";
import { messageOf } from "../platform/errors.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../platform/json.js";
import { runProcess } from "../platform/processes.js";
import { redact, redactJson } from "../platform/secrets.js";
import { compileResultSchema } from "./arguments/json-schema.js";
import { toolError } from "./mailbox.js";
import type { ToolContext, ToolResult } from "./tool.js";
import type { ExternalResources } from "./tool-connections.js";
import { defineHandler, type Handler } from "./tool-handler.js";
import type { ToolRow } from "./tools-store.js";

/** `${ENV:NAME}` is a reference to an environment variable. It is filled in for each call and never stored. */
const REFERENCE = /\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Headers that contain secrets. Their values must come from the environment. */
const SECRET_HEADER = /^(authorization|proxy-authorization|cookie)$|(api[-_]?key|token|secret|password)$/i;

export const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected a variable name");

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "expected a header name");

/** Stored headers. Values contain no line breaks, and secrets only as environment variable references. */
export const headersSchema = z
  .record(headerName, z.string().max(4_000))
  .superRefine((headers, issues) => {
    for (const [name, value] of Object.entries(headers)) {
      if (/[\r\n\0]/.test(value)) issues.addIssue({ code: "custom", path: [name], message: "contains a line break" });
      if (SECRET_HEADER.test(name) && value.search(REFERENCE) === -1) {
        issues.addIssue({
          code: "custom",
          path: [name],
          message: `would store a secret. Set it in the environment, and write \${ENV:NAME} here`,
        });
      }
    }
  })
  .default({});

type Filled =
  | { readonly ok: true; readonly values: Record<string, string> }
  | { readonly ok: false; readonly missing: string };

interface ExternalCall {
  readonly args: JsonObject;
  readonly context: ToolContext;
  readonly outside: ExternalResources;
  /** Aborts when the task ends or the call times out. */
  readonly signal: AbortSignal;
  /** Values to redact from results. */
  readonly secrets: readonly string[];
}

interface ExternalToolKind<Config extends CallLimits> {
  readonly config: z.ZodType<Config>;
  readonly validate?: (config: Config, tool: ToolRow) => string | undefined;
  readonly secrets?: (config: Config, outside: ExternalResources) => readonly string[];
  call(call: ExternalCall, config: Config): Promise<JsonValue>;
}

export const limitsShape = {
  /** Maximum milliseconds per call. Longer calls are aborted. */
  timeoutMs: z.number().int().min(1).max(600_000).default(30_000),
  /** Maximum response size. A larger response is an error. */
  maxBytes: z.number().int().min(1).max(100_000_000).default(1_000_000),
  /** Maximum characters of the result for the model. The rest is truncated. */
  maxResultChars: z.number().int().min(100).max(1_000_000).default(20_000),
  /** JSON Schema that every result must match. */
  resultSchema: jsonObjectSchema.optional(),
};

type CallLimits = z.output<z.ZodObject<typeof limitsShape>>;

/** Fills in environment variables. Returns the name of the first missing variable, if any. */
export function fillInVariables(
  texts: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): Filled {
  let missing: string | null = null;
  const values = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [
      key,
      text.replace(REFERENCE, (_, name: string) => {
        if (!env[name]) missing ??= name;
        return env[name] ?? "";
      }),
    ]),
  );
  return missing === null ? { ok: true, values } : { ok: false, missing };
}

/** Returns the filled-in values. Throws a ToolFailed for the model if a variable is missing. */
export function requireFilled(filled: Filled, consequence = "Cannot call the tool"): Record<string, string> {
  if (filled.ok) return filled.values;
  throw new ToolFailed(`${consequence}: the environment variable ${filled.missing} is not set`);
}

/** Returns the values of referenced variables, which must be redacted from results. */
export function secretsIn(
  texts: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const names = Object.values(texts).flatMap((text) => [...text.matchAll(REFERENCE)].map(([, name = ""]) => name));
  return [...new Set(names)].flatMap((name) => env[name] ?? []);
}

/** Returns the environment for an external program or module: PATH, HOME, LANG and the variables in `names`. */
export function cleanEnvironment(names: readonly string[], env: Readonly<Record<string, string | undefined>>): Filled {
  const values: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "LANG"]) if (env[name] !== undefined) values[name] = env[name];
  for (const name of names) {
    const value = env[name];
    if (!value) return { ok: false, missing: name };
    values[name] = value;
  }
  return { ok: true, values };
}

/** An error with a message for the model. Other errors are reported to the model in the same way. */
export class ToolFailed extends Error {
  override readonly name = "ToolFailed";
}

/**
 * Defines a handler for an external tool with the rules common to all of them. Calls have a time limit, results have a
 * maximum size and must match their schema, and every failure becomes a result that the model can act on. If the task
 * is aborted, the call rejects with the abort reason.
 */
export function defineExternalTool<Config extends CallLimits>(kind: ExternalToolKind<Config>): Handler {
  return defineHandler<JsonObject, Config>({
    args: jsonObjectSchema,
    config: kind.config,
    validate(config, tool) {
      const reason = config.resultSchema === undefined ? undefined : findSchemaProblem(config.resultSchema);
      return reason === undefined ? kind.validate?.(config, tool) : `its resultSchema: ${reason}`;
    },
    async call(args, context, { outside }, config) {
      if (outside === undefined) return toolError("failed", "Custom tools are unsupported here.");
      context.signal.throwIfAborted();
      const secrets = kind.secrets?.(config, outside) ?? [];
      const { timeoutMs } = config;
      const late = new Error(`The tool did not respond within ${timeoutMs / 1000} s.`);
      try {
        const value = await withDeadline(
          context.signal,
          timeoutMs,
          () => late,
          (signal) => kind.call({ args, context, outside, signal, secrets }, config),
        );
        return toToolResult(redactJson(value, secrets), config);
      } catch (error) {
        context.signal.throwIfAborted();
        if (error === late) return toolError("failed", late.message);
        return toolError("failed", errorText(error, secrets));
      }
    },
  });
}

function toToolResult(value: JsonValue, { resultSchema, maxResultChars, maxBytes }: CallLimits): ToolResult {
  if (resultSchema !== undefined) {
    const checked = compileResultSchema(resultSchema)(value);
    if (!checked.ok) return toolError("failed", `The tool's result does not match its schema: ${checked.error}.`);
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (Buffer.byteLength(text) > maxBytes) return toolError("failed", `The tool returned more than ${maxBytes} bytes.`);
  if (text.length <= maxResultChars) return { ok: true, value };
  const beginning = text.slice(0, maxResultChars);
  if (typeof value === "string") {
    return { ok: true, value: `${beginning}\n[truncated: ${maxResultChars} of ${text.length} characters]` };
  }
  return { ok: true, value: { truncated: true, characters: text.length, beginning } };
}

function findSchemaProblem(schema: JsonObject): string | undefined {
  try {
    compileResultSchema(schema);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function errorText(error: unknown, secrets: readonly string[]): string {
  const message = redact(messageOf(error), secrets);
  return message.length > 2_000 ? `${message.slice(0, 2_000)} …` : message;
}

export function parseJsonText(text: string, whose: string, secrets: readonly string[]): JsonValue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const start = redact(text.trim(), secrets).slice(0, 200);
    throw new ToolFailed(`${whose} is not JSON${start === "" ? ": it is empty" : `. It starts with: ${start}`}`);
  }
  return jsonValueSchema.parse(value);
}

const moduleConfig = z.strictObject({
  module: z.string().startsWith("/", "expected an absolute path"),
  /** Environment variables passed in addition to PATH, HOME and LANG. */
  env: z.array(environmentName).max(100).default([]),
  ...limitsShape,
});

/** A file that exports `call(args, context)`. `context` contains the task's `inbox` and `cutoff`. */
export const moduleTool = defineExternalTool({
  config: moduleConfig,
  secrets: ({ env }, outside) => env.flatMap((name) => outside.env[name] ?? []),
  async call({ args, context, outside, signal }, { module, env }) {
    const start = { path: module, env: requireFilled(cleanEnvironment(env, outside.env)) };
    return outside.modules.call(start, args, { inbox: context.inbox, cutoff: context.cutoff }, signal);
  },
});

/** A program and its arguments, run without a shell. */
export const argvSchema = z
  .array(
    z
      .string()
      .max(10_000)
      .refine((word) => !word.includes("\0"), "contains a NUL character"),
  )
  .min(1, "expected a program and its arguments")
  .max(200)
  .refine(([program]) => program !== "", "expected a program name");

const config = z.strictObject({
  command: argvSchema,
  /** Environment variables passed in addition to PATH, HOME and LANG. */
  env: z.array(environmentName).max(100).default([]),
  cwd: z.string().min(1).optional(),
  ...limitsShape,
});

/** A program that reads the arguments as JSON on stdin and writes its result as JSON on stdout. */
export const commandTool = defineExternalTool({
  config,
  secrets: ({ env }, outside) => env.flatMap((name) => outside.env[name] ?? []),
  async call({ args, outside, signal, secrets }, { command, env, cwd, maxBytes }) {
    const start = { argv: command, env: requireFilled(cleanEnvironment(env, outside.env)), cwd };
    const input = `${JSON.stringify(args)}\n`;
    const { end, stdout, stderr, tooLong } = await runProcess(start, input, maxBytes, signal, secrets);
    const stderrNote = stderr === "" ? "" : `: ${stderr}`;
    if (tooLong) throw new ToolFailed(`The program wrote more than ${maxBytes} bytes.`);
    if ("error" in end) throw new ToolFailed(`Cannot start the program ${command[0]}: ${end.error}`);
    if (end.code !== 0) {
      throw new ToolFailed(
        `The program ended with ${end.code === null ? `signal ${end.signal}` : `exit code ${end.code}`}${stderrNote}`,
      );
    }
    return parseJsonText(stdout, "The program's output", secrets);
  },
});
