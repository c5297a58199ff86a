// The port of a model: requests, replies and errors. It does not know providers or HTTP.
import { z } from "zod";
import { type JsonSchema, jsonObjectsIn, jsonValueSchema } from "../platform/json.js";
import type { TaskId } from "../tasks/question.js";
import type { ReasoningEffort } from "./reasoning-effort.js";
import { type Billed, billedSchema, sumBilled, type Usage, usageSchema } from "./usage.js";

type ForcedToolCall = Pick<ModelRequest, "system" | "maxTokens" | "temperature"> & {
  readonly content: string;
  readonly tool: ToolSpec;
};

/** The parts of a reply that can contain the arguments of a forced call. */
export type ForcedReply = Pick<Completion, "toolCalls"> & Partial<Pick<Completion, "content">>;

export type TaskActivity =
  | CallProgress
  | { readonly type: "tool"; readonly name: string }
  | { readonly type: "judging" };

/**
 * Returns the cost of a call in US dollars, or null if the price is unknown. `answeredBy` is the model that the reply
 * specifies.
 */
export type PriceOf = (usage: Usage, answeredBy?: string) => number | null;

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

export interface ModelRequest {
  readonly system: string;
  /** Never contains a system message, which belongs in `system`. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** `required` forces a tool call. Ignored if there are no tools. */
  readonly toolChoice: "auto" | "required";
  /** Maximum tokens of the reply, excluding reasoning. */
  readonly maxTokens: number;
  /** Maximum reasoning tokens in addition to `maxTokens`. 0 means none. The default depends on the model. */
  readonly reasoningTokens?: number | undefined;
  /** Defaults to the model's own effort. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** Defaults to the provider's temperature. Never sent to models that reject it. */
  readonly temperature?: number | undefined;
  /** Identifies the caller, and distinguishes repeats of a question in the reply cache. Never sent. */
  readonly task?: { readonly id: TaskId; readonly epoch: number } | undefined;
  /** Receives the progress of the call. Never sent. `onProgress` must not throw. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
  /**
   * Receives the parts of the reply as they arrive, and makes the call stream. Never called by models that cannot
   * stream. `onDelta` must not throw.
   */
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined;
}

/** A part of a streamed reply. `index` numbers the reply's tool calls from 0. */
export type ReplyDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** A tool call begins. `id` is the server's, or empty if it sent none. */
  | { readonly type: "tool_call"; readonly index: number; readonly id: string; readonly name: string }
  /** Part of the JSON text of a call's arguments. */
  | { readonly type: "tool_arguments"; readonly index: number; readonly text: string };

/** Progress of a call before its reply. */
export type CallProgress =
  /** The call is waiting in the rate limiter. */
  | { readonly type: "queued" }
  /** An attempt is running. `waitedFor` is the limit that delayed it, or null if none did. */
  | { readonly type: "calling"; readonly waitedFor?: LimitReason | null | undefined }
  /** An attempt failed. The next one starts after `waitedMs`. */
  | { readonly type: "retry"; readonly retry: Retry };

/**
 * Port for language models. `complete` returns a reply or throws a `ModelError`. If `signal` aborts, it rejects with
 * the signal's reason and sends nothing more.
 */
export interface Model {
  readonly id: string;
  complete(request: ModelRequest, signal: AbortSignal): Promise<Completion>;
}

type ModelErrorDetails = Pick<
  ModelError,
  "status" | "retryable" | "unreachable" | "retryAfterMs" | "retries" | "billed"
>;

type ModelErrorChanges = Partial<ModelErrorDetails> & { readonly kind?: ModelErrorKind; readonly message?: string };

export type ToolMessage = Extract<Message, { role: "tool" }>;

/** `broken_call`: the reply contains an unreadable tool call. `other`: a failed call, or an unknown imported reason. */
export const FINISH_REASONS = ["stop", "tool_calls", "length", "refusal", "broken_call", "other"] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

export const sentParametersSchema = z.strictObject({
  maxTokens: z.number().int().describe("Maximum tokens per reply, including reasoning."),
  temperature: z.number().nullable().describe("Sampling temperature, or null if none was sent."),
  toolChoice: z.enum(["auto", "required"]).nullable().describe("Tool choice, or null if no tools were sent."),
  reasoningEffort: z
    .union([z.string(), z.number()])
    .nullable()
    .exactOptional()
    .describe("Reasoning effort: a level, or a thinking budget in tokens. Null if omitted, absent if none was set."),
  adjusted: z
    .array(
      z.strictObject({
        parameter: z
          .enum(["maxTokens", "temperature", "toolChoice", "reasoningEffort"])
          .describe("Name of the parameter."),
        asked: z.union([z.number(), z.string()]).describe("Requested value."),
        sent: z
          .union([z.number(), z.string()])
          .nullable()
          .describe("Sent value, or null if the parameter was omitted."),
        reason: z.string().describe("Reason for the difference."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("Parameters that were not sent as requested. Absent if there are none."),
});

export type SentParameters = Readonly<z.output<typeof sentParametersSchema>>;

export const retrySchema = z.object({
  attempt: z.number().int(),
  reason: z.string(),
  waitedMs: z.number(),
  billed: billedSchema.exactOptional(),
});

export type Retry = z.output<typeof retrySchema>;

export const LIMIT_REASONS = ["concurrency", "rate", "tokens", "server"] as const;

export type LimitReason = (typeof LIMIT_REASONS)[number];

/** Time spent before the reply: waiting for a slot or a limit, a failed attempt, or the pause after one. */
export const callWaitSchema = z.object({
  kind: z.enum(["slot", "throttled", "failed_attempt", "pause"]),
  durationMs: z.number().nonnegative(),
});

export type CallWait = z.output<typeof callWaitSchema>;

/**
 * `unavailable`: the account has no credit or is blocked, or the server requests a longer wait than the retries allow.
 * `bad_tools`: the server rejects the number of the agent's tools, or one of their names or schemas.
 * `broken_call`: the server cannot read the model's tool call. Like `refused`, it becomes a reply.
 */
export const MODEL_ERROR_KINDS = [
  "auth",
  "not_found",
  "bad_tools",
  "bad_request",
  "context_overflow",
  "refused",
  "broken_call",
  "rate_limit",
  "unavailable",
  "overloaded",
  "server",
  "network",
  "timeout",
  "protocol",
] as const;

export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

/**
 * Tool call requested by the model. If the arguments are not a JSON object, `invalid` contains the raw text and
 * `arguments` is `{}`. Such a call is answered with an error and never executed.
 */
const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonValueSchema,
  invalid: z.string().optional(),
});

export type ToolCall = Readonly<z.output<typeof toolCallSchema>>;

/**
 * Data that a provider requires unchanged in the next request (Anthropic thinking blocks, Gemini thought signatures,
 * OpenAI reasoning items). Only the same provider's code and `reasoningText` read `value`.
 */
const providerStateSchema = z.object({ provider: z.string(), value: jsonValueSchema });

/** Provider-neutral messages. Requests pass the system prompt separately. */
export const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({ role: z.literal("user"), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    toolCalls: z.array(toolCallSchema),
    /** Reasoning extracted from the text. Never sent back. */
    reasoning: z.string().optional(),
    providerState: providerStateSchema.optional(),
  }),
  z.object({
    role: z.literal("tool"),
    toolCallId: z.string(),
    name: z.string(),
    content: z.string(),
    isError: z.boolean(),
  }),
]);

export type Message = z.output<typeof messageSchema>;

/**
 * One reply. `latencyMs` covers only the successful attempt. `usage` and `costUsd` include billed failed attempts,
 * which are listed in `retries`.
 */
export const completionSchema = z.object({
  content: z.string(),
  toolCalls: z.array(toolCallSchema),
  /** Reasoning extracted from the text. */
  reasoning: z.string().optional(),
  /** Kinds of content that the server left unparsed in the text. */
  unparsed: z.array(z.enum(["reasoning", "tool_call"])).optional(),
  finishReason: z.enum(FINISH_REASONS),
  /** The provider's own name for the finish reason. */
  rawFinishReason: z.string(),
  /** The answering model according to the server. */
  model: z.string().optional(),
  /** ID for finding the reply in the provider's logs. */
  responseId: z.string().optional(),
  /** Null if the server did not report usage. */
  usage: usageSchema.nullable(),
  providerState: providerStateSchema.optional(),
  /** Absent for offline models, which send nothing. */
  sent: sentParametersSchema.optional(),
  latencyMs: z.number().nonnegative(),
  /** Total time spent on rate limiting, failed attempts and pauses between attempts. */
  waitedMs: z.number().nonnegative().optional(),
  /** Breakdown of the waiting time in order, if known. */
  waits: z.array(callWaitSchema).optional(),
  retries: z.array(retrySchema),
  /** Whether the reply is from the cache of an earlier run (`--cache`), so no request was made. */
  cached: z.boolean().optional(),
  /** Whether the reply was paid before the run was resumed and comes from its journal. */
  resumed: z.boolean().optional(),
  /**
   * US dollars as reported by the server, or the original cost of a cached or recorded reply. Absent if today's price
   * applies.
   */
  costUsd: z.number().nullable().optional(),
  /** Unusual server behavior to report to the user once per run. */
  notes: z.array(z.string()).optional(),
});

export type Completion = Readonly<z.output<typeof completionSchema>>;

/** Returns the length of a request as JSON, in characters, for token estimates. */
export function promptChars({ system, messages, tools }: ModelRequest): number {
  return JSON.stringify([system, messages, tools]).length;
}

/** Returns a single-message request that the model must answer by calling `tool`. */
export function forcedToolCall({ system, content, tool, ...limits }: ForcedToolCall): ModelRequest {
  return { system, messages: [{ role: "user", content }], tools: [tool], toolChoice: "required", ...limits };
}

/**
 * Returns the arguments of each valid call of `tool`. If there is no call, reads them from JSON in the text, because
 * models that think reject forced tool calls. The caller validates the arguments, and decides what to do if there are
 * several calls.
 */
export function argumentsOf({ toolCalls, content = "" }: ForcedReply, tool: string): unknown[] {
  const calls = toolCalls.filter(({ name, invalid }) => name === tool && invalid === undefined);
  return calls.length > 0 ? calls.map((call) => call.arguments) : jsonObjectsIn(content);
}

/** Error for a call without a usable reply. The message never contains a key or a request body. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly status: number | null;
  /** Whether a retry might succeed: 408, 409, 429, 5xx, connection resets, timeouts, truncated bodies. */
  readonly retryable: boolean;
  /** Whether the connection failed, so that no request was sent. */
  readonly unreachable: boolean;
  /** Wait requested by the server, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** Earlier failed attempts, set by the retry decorator. */
  readonly retries: readonly Retry[];
  /** Billed usage of an unusable reply. */
  readonly billed: Billed | null;

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    details: Pick<ModelErrorDetails, "retryable"> & Partial<ModelErrorDetails> & { readonly cause?: unknown },
  ) {
    super(message, { cause: details.cause });
    this.status = details.status ?? null;
    this.retryable = details.retryable;
    this.unreachable = details.unreachable ?? false;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.retries = details.retries ?? [];
    this.billed = details.billed ?? null;
  }

  /** Returns a copy with changed details and without the cause. */
  with({ kind = this.kind, message = this.message, ...changes }: ModelErrorChanges): ModelError {
    return new ModelError(kind, message, { ...this, ...changes, cause: undefined });
  }

  /** Tokens and cost of the call, including earlier failed attempts, or null if nothing was billed. */
  get billedInAll(): Billed | null {
    return sumBilled([...this.retries.map(({ billed }) => billed), this.billed]);
  }
}

/** Message of the `protocol` error for an address that returns web pages. Every call to that address fails with it. */
export const ANSWERED_WEB_PAGE = "the server returned a web page (HTML) instead of an API response";
