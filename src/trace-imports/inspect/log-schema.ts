import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json.js";

/** What is read of Inspect's types, which other writers fill as they can. Unknown fields are let through. */
const text = z.string().nullish();
const number = z.number().nullish();
const object = z.record(z.string(), z.unknown()).nullish();

/** A text, or parts of which some are texts. */
export const contentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
]);

const callSchema = z.looseObject({
  id: z.string(),
  function: z.string(),
  arguments: jsonObjectSchema.catch({}),
  parse_error: text,
});

export const messageSchema = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: contentSchema,
  model: text,
  tool_calls: z.array(callSchema).nullish(),
  tool_call_id: text,
  function: text,
  error: z.looseObject({ type: z.string(), message: z.string() }).nullish(),
});

export type LogMessage = z.output<typeof messageSchema>;

const usageSchema = z.looseObject({
  input_tokens: number,
  output_tokens: number,
  input_tokens_cache_read: number,
  input_tokens_cache_write: number,
  total_cost: number,
});

const toolInfoSchema = z.looseObject({ name: z.string(), description: text, parameters: jsonObjectSchema.nullish() });

export const eventSchema = z.looseObject({
  event: z.string(),
  timestamp: text,
  completed: text,
  working_time: number,
  pending: z.boolean().nullish(),
  span_id: text,
  id: text,
  parent_id: text,
  type: text,
  function: text,
  arguments: jsonValueSchema.optional().catch(undefined),
  result: jsonValueSchema.optional().catch(undefined),
  error: z.union([z.string(), z.looseObject({ type: text, message: text })]).nullish(),
  tools: z.array(toolInfoSchema).nullish().catch([]),
  output: z
    .looseObject({
      model: text,
      choices: z.array(z.looseObject({ stop_reason: text })).nullish(),
      usage: usageSchema.nullish(),
      time: number,
    })
    .nullish(),
});

export type LogEvent = z.output<typeof eventSchema>;

export const sampleSchema = z.looseObject({
  id: z.union([z.number(), z.string()]),
  epoch: z.int().positive(),
  input: z.union([z.string(), z.array(messageSchema)]),
  target: z.union([z.string(), z.array(z.string())]),
  messages: z.array(messageSchema).default([]),
  output: z.looseObject({ completion: text, model: text }).nullish(),
  scores: z.record(z.string(), z.looseObject({ value: z.unknown(), explanation: text })).nullish(),
  metadata: object,
  store: object,
  events: z.array(eventSchema).default([]),
  attachments: z.record(z.string(), z.string()).nullish(),
  error: z.looseObject({ message: z.string() }).nullish(),
  limit: z.looseObject({ type: z.string() }).nullish(),
  uuid: text,
  started_at: text,
  completed_at: text,
  total_time: number,
});

export type Sample = z.output<typeof sampleSchema>;

const VERSION = 2;

export const headerSchema = z.looseObject({
  version: z.literal(VERSION, `only logs of version ${VERSION} are read`),
  status: z.enum(["started", "success", "cancelled", "error"]).nullish(),
  eval: z.looseObject({
    eval_id: text,
    run_id: text,
    created: z.string(),
    task: z.string(),
    solver: text,
    model: z.string(),
    task_args: object,
    dataset: z.looseObject({ name: text }),
    config: z.looseObject({ turn_limit: number, time_limit: number, cost_limit: number }),
    model_generate_config: z.looseObject({ max_tokens: number, temperature: number }).nullish(),
    metadata: object,
  }),
  tags: z.array(z.string()).nullish(),
});

export type LogHeader = z.output<typeof headerSchema>;
