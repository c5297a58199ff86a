import { z } from "zod";

/** The rules of ATIF 1.7, as in its strict readers. Throws for a trajectory that they reject. */

const count = z.number().int().nonnegative();
const object = z.record(z.string(), z.unknown());

const callSchema = z.strictObject({ tool_call_id: z.string(), function_name: z.string(), arguments: object });

const metricsSchema = z.strictObject({
  prompt_tokens: count.optional(),
  completion_tokens: count.optional(),
  cached_tokens: count.optional(),
  cost_usd: z.number().optional(),
  extra: object.optional(),
});

const stepSchema = z.strictObject({
  step_id: z.number().int(),
  timestamp: z.iso.datetime().optional(),
  source: z.enum(["system", "user", "agent"]),
  model_name: z.string().optional(),
  message: z.string(),
  reasoning_content: z.string().optional(),
  llm_call_count: count.optional(),
  tool_calls: z.array(callSchema).optional(),
  observation: z
    .strictObject({
      results: z.array(z.strictObject({ source_call_id: z.string().optional(), content: z.string().optional() })),
    })
    .optional(),
  metrics: metricsSchema.optional(),
});

const trajectorySchema = z.strictObject({
  schema_version: z.literal("ATIF-v1.7"),
  session_id: z.string().optional(),
  trajectory_id: z.string().optional(),
  agent: z.strictObject({
    name: z.string().min(1),
    version: z.string().min(1),
    model_name: z.string().optional(),
    tool_definitions: z.array(object).optional(),
  }),
  steps: z.array(stepSchema).min(1),
  final_metrics: z
    .strictObject({
      total_prompt_tokens: count.optional(),
      total_completion_tokens: count.optional(),
      total_cached_tokens: count.optional(),
      total_cost_usd: z.number().optional(),
      total_steps: count.optional(),
    })
    .optional(),
  extra: object.optional(),
});

export type AtifTrajectory = z.output<typeof trajectorySchema>;

export function readAtif(json: string): AtifTrajectory {
  const trajectory = trajectorySchema.parse(JSON.parse(json));
  for (const [i, step] of trajectory.steps.entries()) checkStep(i, step);
  checkTotals(trajectory);
  return trajectory;
}

function checkStep(i: number, { step_id, source, metrics, tool_calls = [], observation }: z.output<typeof stepSchema>) {
  if (step_id !== i + 1) throw new Error(`step ${i + 1} has the id ${step_id}`);
  if (source !== "agent" && (metrics !== undefined || tool_calls.length > 0)) throw new Error("only agents call");
  const ids = new Set(tool_calls.map((call) => call.tool_call_id));
  if (ids.size < tool_calls.length) throw new Error("two calls have one id");
  for (const { source_call_id } of observation?.results ?? []) {
    if (source_call_id !== undefined && !ids.has(source_call_id)) throw new Error(`no call ${source_call_id}`);
  }
}

function checkTotals({ steps, final_metrics = {} }: AtifTrajectory): void {
  const sum = (field: "prompt_tokens" | "completion_tokens" | "cached_tokens" | "cost_usd") =>
    steps.reduce((total, { metrics }) => total + (metrics?.[field] ?? 0), 0);
  const totals = [
    [final_metrics.total_prompt_tokens, sum("prompt_tokens")],
    [final_metrics.total_completion_tokens, sum("completion_tokens")],
    [final_metrics.total_cached_tokens, sum("cached_tokens")],
    [final_metrics.total_cost_usd, sum("cost_usd")],
    [final_metrics.total_steps, steps.length],
  ] as const;
  for (const [total, expected] of totals) {
    if (total !== undefined && Math.abs(total - expected) > 1e-9) throw new Error(`${total} is not ${expected}`);
  }
}
