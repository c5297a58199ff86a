import { z } from "@hono/zod-openapi";
import { jsonObjectSchema as jsonObject } from "../../platform/json.js";
import { ENDINGS } from "../../tasks/ending.js";
import { RATINGS } from "../../traces/trace.js";

/** Schemas of responses, in snake case. They are strict for the OpenAPI document only: responses are not validated. */

/** The generator of the OpenAPI document does not end with recursive schemas: these name a type instead. */
export const jsonObjectSchema = jsonObject.meta({ type: "object" });
export const nullableJsonObjectSchema = jsonObject.nullable().meta({ type: ["object", "null"] });
const jsonValueSchema = z.json().meta({ type: ["object", "array", "string", "number", "boolean", "null"] });

const time = z.iso.datetime().meta({ description: "ISO 8601, UTC" });

export const settingsShape = z.strictObject({
  maxTurns: z.number().int(),
  maxTokens: z.number().int(),
  reasoningTokens: z.number().int().optional(),
  toolCalls: z.enum(["all", "first"]),
  toolChoice: z.enum(["auto", "required"]),
  temperature: z.number().optional(),
});

export const agentShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  prompt: z.string(),
  model: z.string().nullable().meta({ description: "provider/name; null takes the chat's" }),
  settings: settingsShape,
  version: z.number().int(),
  builtin: z.boolean().meta({ description: "Came with the program: may be copied, never changed" }),
  tools: z.array(z.string()),
  created_at: time,
  updated_at: time,
});

export const toolShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  parameters_schema: jsonObjectSchema,
  handler_key: z.string(),
  handler_config: jsonObjectSchema,
  category: z.string(),
  builtin: z.boolean(),
  created_at: time,
  updated_at: time,
});

export const agentToolShape = z.strictObject({
  id: z.string().meta({ description: "The tool's" }),
  agent_id: z.string(),
  tool_id: z.string(),
  name: z.string(),
  description: z.string(),
  parameters_schema: jsonObjectSchema,
  handler_key: z.string(),
  category: z.string(),
  created_at: time,
  config: nullableJsonObjectSchema,
});

export const sessionShape = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  inbox_address: z.string().nullable(),
  query_date: z.string().nullable(),
  chats: z.number().int().optional(),
  question: z.string().nullable().optional().meta({ description: "What was asked first" }),
  created_at: time,
  updated_at: time,
});

export const messageShape = z.strictObject({
  role: z.enum(["user", "assistant", "tool"]),
  content: z.string(),
  tool_calls: z.array(z.strictObject({ id: z.string(), tool_name: z.string(), arguments: jsonValueSchema })).optional(),
  tool_call_id: z.string().optional(),
  is_error: z.boolean().optional(),
});

export const feedbackShape = z.strictObject({
  id: z.string(),
  trace_id: z.string(),
  agent_id: z.string(),
  rating: z.enum(RATINGS),
  notes: z.string().nullable(),
  created_at: time,
});

export const traceLineShape = z.strictObject({
  id: z.string(),
  trace_id: z.string(),
  run_id: z.string().nullable(),
  task_id: z.number().int().nullable(),
  agent_id: z.string(),
  session_id: z.string(),
  model: z.string(),
  ending: z.enum(ENDINGS),
  question: z.string(),
  answer: z.string().nullable(),
  rating: z.enum(RATINGS).nullable(),
  started_at: time,
  duration_ms: z.number(),
});

export const stepShape = z.strictObject({
  step_id: z.string(),
  trace_id: z.string(),
  timestamp: time,
  messages_added: z.array(z.strictObject({ role: z.string(), content: z.string() })),
  tool_calls: z.array(
    z.strictObject({
      tool_name: z.string(),
      arguments: jsonValueSchema,
      result: jsonValueSchema,
      error: z.string().nullable(),
    }),
  ),
  input: jsonValueSchema,
  output: jsonValueSchema,
  metadata: z.strictObject({
    span_id: z.string(),
    parent_span_id: z.string().nullable(),
    span_name: z.string(),
    latency_ms: z.number(),
    tokens_input: z.number().nullable(),
    tokens_output: z.number().nullable(),
  }),
  error: z.string().nullable(),
});

export const errorShape = z
  .strictObject({
    error: z.strictObject({ code: z.string(), message: z.string(), details: jsonValueSchema, request_id: z.string() }),
  })
  .openapi("Error");

export const openaiErrorShape = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
      request_id: z.string(),
    }),
  })
  .openapi("OpenAIError");

/** `2026-11-21 12:38:41`, as SQLite writes it, as ISO 8601. */
export function isoTime(sqlite: string): string {
  return `${sqlite.replace(" ", "T")}Z`;
}
