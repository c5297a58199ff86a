import { z } from "zod";
import type { ChatTrace } from "../domain/chat.js";
import type { AnsweredChat } from "../runner/answer-chat.js";
import { inboxAddress, queryDate } from "./chat-routes.js";
import { WITHOUT_ANSWER } from "./playground-events.js";

const parts = z
  .array(z.object({ type: z.literal("text"), text: z.string() }))
  .transform((texts) => texts.map(({ text }) => text).join("\n"));

const content = z.union([z.string(), parts]);

/** The parts of a chat completion that are read. Sampling settings are the agent's own and may be sent in vain. */
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
  metadata: z.looseObject({ inbox_address: inboxAddress.nullish(), query_date: queryDate.nullish() }).nullish().meta({
    description:
      "inbox_address binds the agent to that mailbox (without it, it may search any), query_date hides later mail.",
  }),
});

const usageShape = z.object({
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_tokens: z.number().int(),
});

/** What the agent found besides its answer. */
const foundShape = z.object({
  trace_id: z.string(),
  ending: z.string(),
  sources: z.array(z.string()),
});

export const completionShape = z.object({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({ role: z.literal("assistant"), content: z.string(), refusal: z.null() }),
      finish_reason: z.enum(["stop", "length"]),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape,
  art_e: foundShape,
});

export const chunkShape = z.object({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.object({ role: z.literal("assistant").optional(), content: z.string().optional() }),
      finish_reason: z.enum(["stop", "length"]).nullable(),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape.nullable().optional(),
  art_e: foundShape.optional(),
});

type Chunk = z.output<typeof chunkShape>;

export interface Completing {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

export function toCompletion(head: Completing, trace: ChatTrace): z.output<typeof completionShape> {
  return {
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: answerOf(trace), refusal: null },
        finish_reason: finishReasonOf(trace),
        logprobs: null,
      },
    ],
    usage: usageOf(trace),
    art_e: foundIn(trace),
  };
}

/** The first chunk, before anything is known. */
export function firstChunk(head: Completing): Chunk {
  return chunk(head, { role: "assistant", content: "" }, null);
}

/** The answer and its end; the usage only where it was asked for. */
export function lastChunks(head: Completing, trace: ChatTrace, includeUsage: boolean): Chunk[] {
  const answer = answerOf(trace);
  return [
    ...(answer === "" ? [] : [chunk(head, { content: answer }, null)]),
    { ...chunk(head, {}, finishReasonOf(trace)), art_e: foundIn(trace) },
    ...(includeUsage ? [{ ...chunk(head, {}, null), choices: [], usage: usageOf(trace) }] : []),
  ];
}

/** Null: there is an answer, or the agent has found none by its own doing. */
export function failureOf({ trace, failure }: AnsweredChat): { message: string; type: string; code: string } | null {
  if (trace.ending === "model_error") {
    return { message: trace.error ?? "", type: "upstream_error", code: failure?.kind ?? "server" };
  }
  if (trace.ending === "timeout" || trace.ending === "interrupted") {
    return { message: trace.error ?? "", type: "server_error", code: trace.ending };
  }
  return null;
}

function chunk(head: Completing, delta: Chunk["choices"][number]["delta"], finish: "stop" | "length" | null): Chunk {
  return {
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  };
}

function answerOf({ answer, ending }: ChatTrace): string {
  return answer ?? (ending in WITHOUT_ANSWER ? WITHOUT_ANSWER[ending as keyof typeof WITHOUT_ANSWER] : "");
}

function finishReasonOf({ ending }: ChatTrace): "stop" | "length" {
  return ending === "answered" || ending === "dont_know" ? "stop" : "length";
}

function usageOf({ turns }: ChatTrace): z.output<typeof usageShape> {
  const input = turns.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0);
  const output = turns.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function foundIn({ traceId, ending, sources }: ChatTrace): z.output<typeof foundShape> {
  return { trace_id: traceId, ending, sources };
}
