import { z } from "zod";
import type { JsonSchema } from "../json.js";
import type { Message, ProviderState, ToolCall } from "./conversation.js";

/** Tokens of one call or the sum of many. `inputTokens` includes those read from a cache and written to one. */
export const usageSchema = z.object({
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  cachedInputTokens: z.number().int().nonnegative(),
  cacheWriteTokens: z
    .number()
    .int()
    .nonnegative()
    .exactOptional()
    .describe("Input tokens written to a cache, which cost more than others; absent where there are none."),
  cacheWrite1hTokens: z
    .number()
    .int()
    .nonnegative()
    .exactOptional()
    .describe("Those of them that the cache keeps for an hour, which cost more again; absent where there are none."),
});

export type Usage = z.output<typeof usageSchema>;

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    ...cacheWrites(
      (a.cacheWriteTokens ?? 0) + (b.cacheWriteTokens ?? 0),
      (a.cacheWrite1hTokens ?? 0) + (b.cacheWrite1hTokens ?? 0),
    ),
  };
}

/** The fields of a usage that are there only where tokens were written to a cache; `forAnHour` are some of `tokens`. */
export function cacheWrites(tokens: number, forAnHour = 0): Pick<Usage, "cacheWriteTokens" | "cacheWrite1hTokens"> {
  if (tokens === 0) return {};
  return { cacheWriteTokens: tokens, ...(forAnHour === 0 ? {} : { cacheWrite1hTokens: forAnHour }) };
}

/** US dollars for a call; null where the price is not known. `answeredBy`: the model that the reply names. */
export type PriceOf = (usage: Usage, answeredBy?: string) => number | null;

export const FINISH_REASONS = ["stop", "tool_calls", "length", "refusal", "other"] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

/** A tool as the model is told of it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

export interface ModelRequest {
  readonly system: string;
  /** Never holds a system message: that is `system`. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  /** `required`: the model must call a tool. Ignored where there are no tools. */
  readonly toolChoice: "auto" | "required";
  /** Of what the model says; its reasoning has tokens of its own. */
  readonly maxTokens: number;
  /** For reasoning, beside `maxTokens`. Undefined: by what the model is; 0: none. */
  readonly reasoningTokens?: number | undefined;
  /** Left to the provider where undefined; never sent to models that refuse it. */
  readonly temperature?: number | undefined;
  /** Who asks. Never sent; it tells the repeats of a question apart where replies are kept. */
  readonly task?: { readonly id: number; readonly epoch: number } | undefined;
}

/** The parameters of a call as they were sent. */
export const sentParametersSchema = z.strictObject({
  maxTokens: z.number().int().describe("Limit of a reply, its reasoning included."),
  temperature: z.number().nullable().describe("Null: none was sent."),
  toolChoice: z.enum(["auto", "required"]).nullable().describe("Null: no tools were sent."),
  adjusted: z
    .array(
      z.strictObject({
        parameter: z.enum(["maxTokens", "temperature", "toolChoice"]).describe("Which one."),
        asked: z.union([z.number(), z.string()]).describe("Its value as it was asked for."),
        sent: z.union([z.number(), z.string()]).nullable().describe("Null: it was left out."),
        reason: z.string().describe("Why it differs."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("What was not sent as it was asked for, and why; absent where nothing was changed."),
});

export type SentParameters = Readonly<z.output<typeof sentParametersSchema>>;

/** One failed attempt that was tried again. */
export const retrySchema = z.object({ attempt: z.number().int(), reason: z.string(), waitedMs: z.number() });

export type Retry = z.output<typeof retrySchema>;

/** One reply. `latencyMs` is the successful attempt alone; failed attempts stand in `retries`. */
export interface Completion {
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason;
  /** The provider's own word for it. */
  readonly rawFinishReason: string;
  /** The model that answered, as the server names it; absent where it names none. */
  readonly model?: string | undefined;
  /** Null where the server did not say. */
  readonly usage: Usage | null;
  readonly providerState?: ProviderState | undefined;
  /** Undefined where nothing was sent: offline models, and replies kept by older versions. */
  readonly sent?: SentParameters | undefined;
  readonly latencyMs: number;
  /** What the reply took besides: throttling, failed attempts, pauses between them; left out where nothing was waited for. */
  readonly waitedMs?: number | undefined;
  readonly retries: readonly Retry[];
  /** Kept from an earlier run (`--cache`): nothing was asked for it now. */
  readonly cached?: boolean | undefined;
  /** US dollars, as they were when a kept or recorded reply was made; left out where the price is today's. */
  readonly costUsd?: number | null | undefined;
}

/**
 * Port. `complete` answers or throws a `ModelError`; when `signal` aborts it rejects with the
 * signal's reason and sends nothing more.
 */
export interface Model {
  /** `provider/name`. */
  readonly id: string;
  complete(request: ModelRequest, signal: AbortSignal): Promise<Completion>;
}

export const MODEL_ERROR_KINDS = [
  "auth",
  "not_found",
  "bad_request",
  "context_overflow",
  "rate_limit",
  "overloaded",
  "server",
  "network",
  "timeout",
  "protocol",
] as const;

export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

/** A call that got no usable reply. The message never holds a key or a request body. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly status: number | null;
  /** Worth another attempt: 408, 409, 429, 5xx, resets, time-outs, cut-off bodies. */
  readonly retryable: boolean;
  /** No connection came about: nothing was asked. */
  readonly unreachable: boolean;
  /** What the server asked us to wait, in ms. */
  readonly retryAfterMs: number | null;
  /** Attempts that were made before this one; set by the retrying model. */
  readonly retries: readonly Retry[];

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    details: {
      status?: number | null;
      retryable: boolean;
      unreachable?: boolean;
      retryAfterMs?: number | null;
      retries?: readonly Retry[];
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.status = details.status ?? null;
    this.retryable = details.retryable;
    this.unreachable = details.unreachable ?? false;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.retries = details.retries ?? [];
  }
}
