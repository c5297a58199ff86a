import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json.js";
import { textOfContent } from "../text-of-content.js";

/** What is read of a trajectory. Unknown fields are let through, and what may be absent may be null. */
const text = z.string().nullish();
const number = z.number().nullish();

const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().nullish() }))])
  .transform(textOfContent);

const callSchema = z.looseObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: jsonObjectSchema,
});

const stepSchema = z.looseObject({
  timestamp: text,
  source: z.enum(["system", "user", "agent"]),
  model_name: text,
  message: contentSchema.nullish(),
  llm_call_count: number,
  tool_calls: z.array(callSchema).nullish(),
  observation: z
    .looseObject({
      results: z.array(z.looseObject({ source_call_id: text, content: contentSchema.nullish() })).nullish(),
    })
    .nullish(),
  metrics: z
    .looseObject({ prompt_tokens: number, completion_tokens: number, cached_tokens: number, cost_usd: number })
    .nullish(),
});

export type AtifStep = z.output<typeof stepSchema>;

const definitionSchema = z.looseObject({
  function: z.looseObject({ name: z.string(), description: text, parameters: jsonObjectSchema.nullish() }),
});

export const trajectorySchema = z.looseObject({
  schema_version: z.string().regex(/^ATIF-v1\.\d+$/, "only ATIF-v1.x is read"),
  session_id: text,
  trajectory_id: text,
  agent: z.looseObject({
    name: z.string(),
    version: z.string(),
    model_name: text,
    tool_definitions: z.array(definitionSchema.nullable().catch(null)).nullish(),
  }),
  steps: z.array(stepSchema).min(1, "has no steps"),
  extra: z.record(z.string(), z.unknown()).nullish(),
});

export type Trajectory = z.output<typeof trajectorySchema>;
