import { z } from "zod";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { foundIn, foundShape, isWhole, saidAnswer, usageOf } from "./chat-answer.js";
import { bindingMetadata, notGiven } from "./openai-format.js";

/** OpenAI's Responses API: what is read of a request, and the object that answers it. */

const textPart = z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() });
const refusalPart = z
  .object({ type: z.literal("refusal"), refusal: z.string() })
  .transform(({ refusal }) => ({ text: refusal }));

const content = z.union([
  z.string(),
  z.array(z.union([textPart, refusalPart])).transform((parts) => parts.map(({ text }) => text).join("\n")),
]);

const said = z.object({
  type: z.literal("message").nullish(),
  role: z.enum(["system", "developer", "user", "assistant"]),
  content,
});

/** An answer given here before, by its id. */
const reference = z.object({ type: z.literal("item_reference").nullish(), id: z.string().min(1).max(200) });

export type InputItem = z.output<typeof said> | z.output<typeof reference>;

const never = (why: string) => z.null(why).optional();

/** Sampling settings are the agent's own and may be sent in vain. */
export const responseBody = z.looseObject({
  model: z.string().min(1).meta({ description: "The id of an agent" }),
  input: z
    .union([
      z.string().transform((text): InputItem[] => [{ role: "user", content: text }]),
      z
        .array(z.union([said, reference]))
        .min(1)
        .max(1_000),
    ])
    .meta({ description: "The last is the question; system messages are put after the agent's own prompt." }),
  instructions: z.string().nullish(),
  previous_response_id: z.string().max(200).nullish().meta({ description: "Goes on from there, bound as it was" }),
  stream: z.boolean().nullish(),
  metadata: bindingMetadata,
  tools: notGiven.tools,
  tool_choice: notGiven.tool_choice,
  text: z.looseObject({ format: notGiven.textOnly }).nullish(),
  top_logprobs: notGiven.top_logprobs,
  background: z.literal(false, "answers are not made in the background").nullish(),
  conversation: never("there are no conversations here: go on with previous_response_id"),
  prompt: never("there are no stored prompts here"),
});

const emptyList = z.array(z.unknown()).max(0);

const messageShape = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  status: z.enum(["in_progress", "completed", "incomplete"]),
  role: z.literal("assistant"),
  content: z.array(
    z.union([
      z.strictObject({
        type: z.literal("output_text"),
        text: z.string(),
        annotations: emptyList,
        logprobs: emptyList,
      }),
      z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
    ]),
  ),
});

export type OutputMessage = z.output<typeof messageShape>;

export const responseShape = z.strictObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.number().int(),
  status: z.enum(["in_progress", "completed", "incomplete", "failed"]),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.strictObject({ reason: z.literal("max_output_tokens") }).nullable(),
  instructions: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  model: z.string(),
  output: z.array(messageShape),
  parallel_tool_calls: z.literal(false),
  previous_response_id: z.string().nullable(),
  temperature: z.null(),
  text: z.strictObject({ format: z.strictObject({ type: z.literal("text") }) }),
  tool_choice: z.literal("none"),
  tools: emptyList,
  top_p: z.null(),
  usage: z
    .strictObject({
      input_tokens: z.number().int(),
      input_tokens_details: z.strictObject({ cached_tokens: z.number().int() }),
      output_tokens: z.number().int(),
      output_tokens_details: z.strictObject({ reasoning_tokens: z.number().int() }),
      total_tokens: z.number().int(),
    })
    .nullable(),
  art_e: foundShape.optional(),
});

export type ResponseObject = z.output<typeof responseShape>;

/** A response and its message go by the id of the session that the answer was given in. */
export const responseIdOf = (sessionId: string) => sessionId.replace(/^session_/, "resp_");
export const messageIdOf = (sessionId: string) => sessionId.replace(/^session_/, "msg_");

/** Null: an id that was never given here. */
export function sessionIdOf(id: string): string | null {
  return /^(resp|msg)_/.test(id) ? id.replace(/^(resp|msg)_/, "session_") : null;
}

/** As it is before anything is known of its answer. */
export function openResponse(sessionId: string, body: z.output<typeof responseBody>): ResponseObject {
  const metadata = Object.entries(body.metadata ?? {}).filter(([, value]) => typeof value === "string");
  return {
    id: responseIdOf(sessionId),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: Object.fromEntries(metadata) as Record<string, string>,
    model: body.model,
    output: [],
    parallel_tool_calls: false,
    previous_response_id: body.previous_response_id ?? null,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "none",
    tools: [],
    top_p: null,
    usage: null,
  };
}

/** With the answer in it. */
export function endedResponse(open: ResponseObject, trace: ChatTrace): ResponseObject & { output: [OutputMessage] } {
  const { text, isRefusal } = saidAnswer(trace);
  const { inputTokens, outputTokens, cachedInputTokens } = usageOf(trace);
  const status = isWhole(trace) ? "completed" : "incomplete";
  const part: OutputMessage["content"][number] = isRefusal
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
  return {
    ...open,
    status,
    incomplete_details: status === "completed" ? null : { reason: "max_output_tokens" },
    output: [{ id: messageIdOf(trace.sessionId), type: "message", status, role: "assistant", content: [part] }],
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      // Servers do not tell them apart here: they stand in output_tokens.
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
    art_e: foundIn(trace),
  };
}
