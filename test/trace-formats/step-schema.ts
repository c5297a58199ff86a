import { z } from "zod";
import { jsonValueSchema } from "../../src/platform/json.js";

/** A step of a trace, field for field in iofold's format. */
export const stepSchema = z.strictObject({
  step_id: z.string(),
  trace_id: z.string(),
  timestamp: z.iso.datetime(),
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
