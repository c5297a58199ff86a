import { z } from "zod";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { inboxAddress, queryDate } from "../playground/chat-routes.js";
import { agentDetails, agentDetailsShape, answerText, isComplete, totalUsage } from "./chat-answer.js";

const parts = z
  .array(z.object({ type: z.literal("text"), text: z.string() }))
  .transform((texts) => texts.map(({ text }) => text).join("\n"));

const content = z.union([z.string(), parts]);

/** Binds the agent to a mailbox and a day. */
export const bindingMetadata = z
  .looseObject({ inbox_address: inboxAddress.nullish(), query_date: queryDate.nullish() })
  .nullish()
  .meta({
    description:
      "inbox_address binds the agent to that mailbox (without it, it may search any), query_date hides later mail.",
  });

/** Parameters that would change the form of the answer or the agent's tools are refused rather than ignored. */
const OWN_TOOLS = "an agent calls its own tools here, and can be given no others";
export const unsupported = {
  tools: z.array(z.unknown()).max(0, OWN_TOOLS).nullish(),
  tool_choice: z.enum(["none", "auto"], OWN_TOOLS).nullish(),
  textOnly: z.looseObject({ type: z.literal("text", "agents answer in plain text only") }).nullish(),
  top_logprobs: z.literal(0, "probabilities are not known here").nullish(),
};

/** The parameters that are read. Sampling settings are accepted and ignored: the agent has its own. */
export const completionBody = z.looseObject({
  model: z.string().min(1).meta({ description: "The id of an agent" }),
  messages: z
    .array(
      z.discriminatedUnion("role", [
        z.object({ role: z.literal("system"), content }),
        z.object({ role: z.literal("developer"), content }),
        z.object({ role: z.literal("user"), content }),
        z.object({ role: z.literal("assistant"), content: content.nullish() }),
      ]),
    )
    .min(1)
    .max(1_000)
    .meta({ description: "The last is the question; system messages are put after the agent's own prompt." }),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  metadata: bindingMetadata,
  n: z.literal(1, "one answer is given to a request; ask again for another").nullish(),
  tools: unsupported.tools,
  functions: unsupported.tools,
  tool_choice: unsupported.tool_choice,
  function_call: unsupported.tool_choice,
  web_search_options: z.null(OWN_TOOLS).optional(),
  response_format: unsupported.textOnly,
  modalities: z.array(z.literal("text", "agents answer in text only")).nullish(),
  logprobs: z.literal(false, "probabilities are not known here").nullish(),
  top_logprobs: unsupported.top_logprobs,
});

const usageShape = z.strictObject({
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_tokens: z.number().int(),
  prompt_tokens_details: z.strictObject({ cached_tokens: z.number().int() }),
});

export const completionShape = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      message: z.strictObject({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
      }),
      finish_reason: z.enum(["stop", "length"]),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape,
  art_e: agentDetailsShape,
});

export const chunkShape = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      delta: z.strictObject({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        refusal: z.string().optional(),
      }),
      finish_reason: z.enum(["stop", "length"]).nullable(),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape.nullable().optional(),
  art_e: agentDetailsShape.optional(),
});

type Chunk = z.output<typeof chunkShape>;

export interface CompletionHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

export function toCompletion(head: CompletionHead, trace: ChatTrace): z.output<typeof completionShape> {
  const { text, isRefusal } = answerText(trace);
  return {
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: isRefusal ? null : text, refusal: isRefusal ? text : null },
        finish_reason: finishReasonOf(trace),
        logprobs: null,
      },
    ],
    usage: tokensOf(trace),
    art_e: agentDetails(trace),
  };
}

/** The first chunk, before there is an answer. */
export function firstChunk(head: CompletionHead): Chunk {
  return chunk(head, { role: "assistant", content: "" }, null);
}

/** The answer and its end; the usage only on request. */
export function lastChunks(head: CompletionHead, trace: ChatTrace, includeUsage: boolean): Chunk[] {
  const { text, isRefusal } = answerText(trace);
  return [
    ...(text === "" ? [] : [chunk(head, isRefusal ? { refusal: text } : { content: text }, null)]),
    { ...chunk(head, {}, finishReasonOf(trace)), art_e: agentDetails(trace) },
    ...(includeUsage ? [{ ...chunk(head, {}, null), choices: [], usage: tokensOf(trace) }] : []),
  ];
}

function chunk(
  head: CompletionHead,
  delta: Chunk["choices"][number]["delta"],
  finish: "stop" | "length" | null,
): Chunk {
  return {
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  };
}

function finishReasonOf(trace: ChatTrace): "stop" | "length" {
  return isComplete(trace) ? "stop" : "length";
}

function tokensOf(trace: ChatTrace): z.output<typeof usageShape> {
  const { inputTokens, outputTokens, cachedInputTokens } = totalUsage(trace);
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  };
}
