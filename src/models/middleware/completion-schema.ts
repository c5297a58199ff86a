import { z } from "zod";
import { providerStateSchema, toolCallSchema } from "../../domain/models/conversation.js";
import {
  callWaitSchema,
  FINISH_REASONS,
  retrySchema,
  sentParametersSchema,
  usageSchema,
} from "../../domain/models/model.js";

/** A reply as it is kept on disk. */
export const completionSchema = z.object({
  content: z.string(),
  toolCalls: z.array(toolCallSchema),
  finishReason: z.enum(FINISH_REASONS),
  rawFinishReason: z.string(),
  model: z.string().optional(),
  responseId: z.string().optional(),
  usage: usageSchema.nullable(),
  providerState: providerStateSchema.optional(),
  sent: sentParametersSchema.optional(),
  latencyMs: z.number().nonnegative(),
  waitedMs: z.number().nonnegative().optional(),
  waits: z.array(callWaitSchema).optional(),
  retries: z.array(retrySchema),
  cached: z.boolean().optional(),
  costUsd: z.number().nullable().optional(),
});
