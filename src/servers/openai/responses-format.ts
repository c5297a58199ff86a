import { z } from "zod";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { agentDetails, agentDetailsShape, answerText, isComplete, totalUsage } from "./chat-answer.js";
import { bindingMetadata, unsupported } from "./openai-format.js";

/** Request and response of OpenAI's Responses API. */

const textPart = z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() });
const refusalPart = z
  .object({ type: z.literal("refusal"), refusal: z.string() })
  .transform(({ refusal }) => ({ text: refusal }));

const content = z.union([
  z.string(),
  z.array(z.union([textPart, refusalPart])).transform((parts) => parts.map(({ text }) => text).join("\n")),
]);

const inputMessage = z.object({
  type: z.literal("message").nullish(),
  role: z.enum(["system", "developer", "user", "assistant"]),
  content,
});

/** A message of an earlier response, by its id. */
const itemReference = z.object({ type: z.literal("item_reference").nullish(), id: z.string().min(1).max(200) });

export type InputItem = z.output<typeof inputMessage> | z.output<typeof itemReference>;

const refused = (why: string) => z.null(why).optional();

/** Sampling settings are accepted and ignored: the agent has its own. */
export const responseBody = z.looseObject({
  model: z.string().min(1).meta({ description: "The id of an agent" }),
  input: z
    .union([
      z.string().transform((text): InputItem[] => [{ role: "user", content: text }]),
      z
        .array(z.union([inputMessage, itemReference]))
        .min(1)
        .max(1_000),
    ])
    .meta({ description: "The last is the question; system messages are put after the agent's own prompt." }),
  instructions: z.string().nullish(),
  previous_response_id: z.string().max(200).nullish().meta({ description: "Goes on from there, bound as it was" }),
  stream: z.boolean().nullish(),
  metadata: bindingMetadata,
  tools: unsupported.tools,
  tool_choice: unsupported.tool_choice,
  text: z.looseObject({ format: unsupported.textOnly }).nullish(),
  top_logprobs: unsupported.top_logprobs,
  background: z.literal(false, "answers are not made in the background").nullish(),
  conversation: refused("there are no conversations here: go on with previous_response_id"),
  prompt: refused("there are no stored prompts here"),
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
  art_e: agentDetailsShape.optional(),
});

export type ResponseObject = z.output<typeof responseShape>;

/** The ids of a response and its message are made from the id of its session. */
export const responseIdOf = (sessionId: string) => sessionId.replace(/^session_/, "resp_");
export const messageIdOf = (sessionId: string) => sessionId.replace(/^session_/, "msg_");

/** Null: not an id of this server. */
export function sessionIdOf(id: string): string | null {
  return /^(resp|msg)_/.test(id) ? id.replace(/^(resp|msg)_/, "session_") : null;
}

/** A response before there is an answer. */
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

/** The response with its answer. */
export function completedResponse(
  open: ResponseObject,
  trace: ChatTrace,
): ResponseObject & { output: [OutputMessage] } {
  const { text, isRefusal } = answerText(trace);
  const { inputTokens, outputTokens, cachedInputTokens } = totalUsage(trace);
  const status = isComplete(trace) ? "completed" : "incomplete";
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
      // Reasoning tokens are counted in output_tokens and not known separately.
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
    art_e: agentDetails(trace),
  };
}
