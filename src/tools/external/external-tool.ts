import { z } from "zod";
import type { ToolContext, ToolResult, ToolRow } from "../../domain/agents/tool.js";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../domain/json.js";
import { redact, redactJson } from "../../domain/redact.js";
import { compileResultSchema } from "../json-schema/compile-schema.js";
import { toolError } from "../open-mailbox.js";
import { defineHandler, type Handler } from "../tool-handler.js";
import type { ExternalResources } from "./external-connections.js";

/** Configuration that all external tools share. */
export const limitsShape = {
  /** A call that takes longer is aborted. */
  timeoutMs: z.number().int().min(1).max(600_000).default(30_000),
  /** A longer response is an error. */
  maxBytes: z.number().int().min(1).max(100_000_000).default(1_000_000),
  /** Characters of the result that the model gets; the rest is truncated. */
  maxResultChars: z.number().int().min(100).max(1_000_000).default(20_000),
  /** JSON Schema that every result must fit. */
  resultSchema: jsonObjectSchema.optional(),
};

type Limits = z.output<z.ZodObject<typeof limitsShape>>;

/** One call, as passed to a kind of tool. */
export interface ExternalCall {
  readonly args: JsonObject;
  readonly context: ToolContext;
  readonly outside: ExternalResources;
  /** Aborts when the task ends or the time is over. */
  readonly signal: AbortSignal;
  /** Values to redact from results. */
  readonly secrets: readonly string[];
}

/** An error whose message is for the model. Other errors are reported to it in the same way. */
export class ToolFailed extends Error {
  override readonly name = "ToolFailed";
}

export interface ExternalToolKind<Config extends Limits> {
  readonly config: z.ZodType<Config>;
  readonly validate?: (config: Config, tool: ToolRow) => string | undefined;
  /** Values to redact from results. */
  readonly secrets?: (config: Config, outside: ExternalResources) => readonly string[];
  call(call: ExternalCall, config: Config): Promise<JsonValue>;
}

/**
 * A handler for an external tool, with the rules common to all of them: a time limit, results of limited size that
 * fit their schema, and every failure as a result that the model can act on. If the task is aborted, the call rejects
 * with its reason.
 */
export function defineExternalTool<Config extends Limits>(kind: ExternalToolKind<Config>): Handler {
  return defineHandler<JsonObject, Config>({
    args: jsonObjectSchema,
    config: kind.config,
    validate(config, tool) {
      const reason = config.resultSchema === undefined ? undefined : findSchemaProblem(config.resultSchema);
      return reason === undefined ? kind.validate?.(config, tool) : `its resultSchema: ${reason}`;
    },
    async call(args, context, { outside }, config) {
      if (outside === undefined) return toolError("failed", "Tools of one's own cannot be called here.");
      context.signal.throwIfAborted();
      const timeout = AbortSignal.timeout(config.timeoutMs);
      const signal = AbortSignal.any([context.signal, timeout]);
      const secrets = kind.secrets?.(config, outside) ?? [];
      try {
        const value = await raceAbort(kind.call({ args, context, outside, signal, secrets }, config), signal);
        return toToolResult(redactJson(value, secrets), config);
      } catch (error) {
        context.signal.throwIfAborted();
        if (timeout.aborted) return toolError("failed", `The tool did not answer within ${config.timeoutMs / 1000} s.`);
        return toolError("failed", errorText(error, secrets));
      }
    },
  });
}

/** Rejects on abort even if the tool ignores its signal. */
async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, ended]);
  } finally {
    signal.removeEventListener("abort", stop);
    work.catch(() => undefined);
  }
}

function toToolResult(value: JsonValue, { resultSchema, maxResultChars, maxBytes }: Limits): ToolResult {
  if (resultSchema !== undefined) {
    const checked = compileResultSchema(resultSchema)(value);
    if (!checked.ok) return toolError("failed", `The tool's result does not fit its schema: ${checked.error}.`);
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (Buffer.byteLength(text) > maxBytes)
    return toolError("failed", `The tool answered with more than ${maxBytes} bytes.`);
  if (text.length <= maxResultChars) return { ok: true, value };
  const beginning = text.slice(0, maxResultChars);
  if (typeof value === "string") {
    return { ok: true, value: `${beginning}\n[cut off: ${maxResultChars} of ${text.length} characters]` };
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
  const message = redact(error instanceof Error ? error.message : String(error), secrets);
  return message.length > 2_000 ? `${message.slice(0, 2_000)} …` : message;
}

/** Parses external text as JSON. */
export function parseJsonText(text: string, whose: string, secrets: readonly string[]): JsonValue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const start = redact(text.trim(), secrets).slice(0, 200);
    throw new ToolFailed(`${whose} is not JSON${start === "" ? ": it is empty" : `; it begins: ${start}`}`);
  }
  return jsonValueSchema.parse(value);
}
