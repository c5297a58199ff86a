import { z } from "zod";

/** The rules of ART's trajectory groups. Throws for a line that ART's reader or training rejects. */

const message = z.looseObject({ role: z.enum(["system", "user", "assistant", "tool"]) });

const choice = z.strictObject({
  index: z.number().int(),
  finish_reason: z.enum(["stop", "length", "tool_calls", "content_filter", "function_call"]),
  logprobs: z.null(),
  message: z.strictObject({
    role: z.literal("assistant"),
    content: z.string().nullable(),
    tool_calls: z
      .array(
        z.strictObject({
          id: z.string(),
          type: z.literal("function"),
          function: z.strictObject({ name: z.string(), arguments: z.string() }),
        }),
      )
      .optional(),
  }),
});

const trajectorySchema = z.strictObject({
  messages_and_choices: z
    .array(z.union([choice, message]))
    .refine((items) => items.some((item) => "finish_reason" in item), "nothing to train on"),
  tools: z.array(z.looseObject({ type: z.literal("function") })).optional(),
  reward: z.number(),
  metrics: z.record(z.string(), z.union([z.number(), z.boolean()])),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  logs: z.array(z.string()),
});

const groupSchema = z.strictObject({ trajectories: z.array(trajectorySchema).min(1) });

export function readArtGroups(file: string) {
  return file
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => groupSchema.parse(JSON.parse(line)));
}
