import { createHash } from "node:crypto";
import { z } from "zod";
import { type JsonSchema, jsonObjectsIn, jsonValueSchema } from "../platform/json.js";
import type { TaskId } from "../tasks/question.js";
import type { ReasoningEffort } from "./reasoning-effort.js";

/** Characters of a request as JSON, for estimates of its tokens. */
export function promptChars({ system, messages, tools }: ModelRequest): number {
  return JSON.stringify([system, messages, tools]).length;
}

interface ForcedToolCall {
  readonly system: string;
  readonly content: string;
  readonly tool: ToolSpec;
  readonly maxTokens: number;
  readonly temperature?: number;
}

/** A request of one message, to be answered by a call of `tool`. */
export function forcedToolCall({ system, content, tool, ...limits }: ForcedToolCall): ModelRequest {
  return { system, messages: [{ role: "user", content }], tools: [tool], toolChoice: "required", ...limits };
}

/** A reply, as far as it may hold the arguments of a forced call. */
export type ForcedReply = Pick<Completion, "toolCalls"> & Partial<Pick<Completion, "content">>;

/**
 * The arguments of each valid call of `tool`. A reply without one may have them as JSON in its text: models that think
 * refuse to be made to call a tool. The caller checks them and decides what several mean.
 */
export function argumentsOf({ toolCalls, content = "" }: ForcedReply, tool: string): unknown[] {
  const calls = toolCalls.filter(({ name, invalid }) => name === tool && invalid === undefined);
  return calls.length > 0 ? calls.map((call) => call.arguments) : jsonObjectsIn(content);
}

/** A text that a model is shown and must not obey; `name` is the mark it stands between. */
export interface UntrustedText {
  readonly name: string;
  readonly text: string;
}

/** Characters of one text that are sent. */
const MAX_CHARS = 20_000;

/**
 * A prompt: untrusted texts between marks that they cannot contain, then the `instruction`. Each mark has a hash over
 * all texts as its id, and what looks like a mark or a system prompt inside a text loses its angle bracket. Invisible
 * characters, which could hide words, are removed.
 */
export function delimitUntrusted(texts: readonly UntrustedText[], instruction: string): string {
  const boundary = createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
  const names = [...new Set(texts.map(({ name }) => name)), "instructions?", "system"];
  const mark = new RegExp(`<(?=\\s*(?:/\\s*)?(${names.join("|")})\\b)`, "gi");
  return [
    ...texts.map(
      ({ name, text }) => `<${name} id="${boundary}">\n${escapeMarks(text, mark)}\n</${name} id="${boundary}">`,
    ),
    `End of the data marked ${boundary}. ${instruction}`,
  ].join("\n\n");
}

function escapeMarks(text: string, mark: RegExp): string {
  const truncated =
    text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)} [cut: ${text.length - MAX_CHARS} characters more]`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove.
  return truncated.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{DI}]/gu, "").replace(mark, "‹");
}

export type TaskActivity =
  | CallProgress
  | { readonly type: "tool"; readonly name: string }
  | { readonly type: "judging" };

/** How many replies name which model. */
export const answeredBySchema = z.record(z.string(), z.number().int().positive()).readonly();

export type AnsweredBy = z.output<typeof answeredBySchema>;

export function addReplies(a: AnsweredBy, b: AnsweredBy): AnsweredBy {
  const sums = new Map(Object.entries(a));
  for (const [model, replies] of Object.entries(b)) sums.set(model, (sums.get(model) ?? 0) + replies);
  return Object.fromEntries(sums);
}

/** Counts the models named by turns or votes. */
export function repliesBy(named: readonly { readonly model?: string }[]): AnsweredBy {
  return named.reduce<AnsweredBy>(
    (sum, { model }) => (model === undefined ? sum : addReplies(sum, { [model]: 1 })),
    {},
  );
}

/** The field of a result, absent if no reply named a model. */
export function answeredByField(answeredBy: AnsweredBy): { readonly answeredBy?: AnsweredBy } {
  return Object.keys(answeredBy).length === 0 ? {} : { answeredBy };
}

const tokens = z.number().int().nonnegative();

/** Tokens of one call or the sum of many. `inputTokens` includes those read from a cache and written to one. */
export const usageSchema = z.object({
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens
    .exactOptional()
    .describe("Input tokens written to a cache, which cost more than others; absent where there are none."),
  cacheWrite1hTokens: tokens
    .exactOptional()
    .describe("Those of them that the cache keeps for an hour, which cost more again; absent where there are none."),
  reasoningTokens: tokens
    .exactOptional()
    .describe("Output tokens spent on reasoning, included in outputTokens. Absent if none were reported."),
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
    ...reasoningUsage((a.reasoningTokens ?? 0) + (b.reasoningTokens ?? 0)),
  };
}

/** Returns the usage property for reasoning tokens, which is absent if there are none. */
export function reasoningUsage(tokens: number | null | undefined): Pick<Usage, "reasoningTokens"> {
  return tokens ? { reasoningTokens: tokens } : {};
}

/** The fields of a usage that are there only where tokens were written to a cache; `forAnHour` are some of `tokens`. */
export function cacheWrites(tokens: number, forAnHour = 0): Pick<Usage, "cacheWriteTokens" | "cacheWrite1hTokens"> {
  if (tokens === 0) return {};
  return { cacheWriteTokens: tokens, ...(forAnHour === 0 ? {} : { cacheWrite1hTokens: forAnHour }) };
}

/** US dollars for a call; null where the price is not known. `answeredBy`: the model that the reply names. */
export type PriceOf = (usage: Usage, answeredBy?: string) => number | null;

/** `broken_call`: the reply is a tool call that cannot be read. `other` exists in traces of earlier versions only. */
export const FINISH_REASONS = ["stop", "tool_calls", "length", "refusal", "broken_call", "other"] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

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
  /** Limit of the reply without its reasoning. */
  readonly maxTokens: number;
  /** For reasoning, besides `maxTokens`. Undefined: by the kind of model; 0: none. */
  readonly reasoningTokens?: number | undefined;
  /** Undefined: the model's default. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** Undefined: the provider's default. Never sent to models that reject it. */
  readonly temperature?: number | undefined;
  /** Identifies the caller; never sent. Distinguishes repeats of a question in the reply cache. */
  readonly task?: { readonly id: TaskId; readonly epoch: number } | undefined;
  /** Hears what the call waits for; never sent. Must not throw. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
}

/** The parameters of a call as they were sent. */
export const sentParametersSchema = z.strictObject({
  maxTokens: z.number().int().describe("Limit of a reply, its reasoning included."),
  temperature: z.number().nullable().describe("Null: none was sent."),
  toolChoice: z.enum(["auto", "required"]).nullable().describe("Null: no tools were sent."),
  reasoningEffort: z
    .union([z.string(), z.number()])
    .nullable()
    .exactOptional()
    .describe("Reasoning effort: a level, or a thinking budget in tokens. Null if left out; absent if none was set."),
  adjusted: z
    .array(
      z.strictObject({
        parameter: z.enum(["maxTokens", "temperature", "toolChoice", "reasoningEffort"]).describe("Which one."),
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

/** Tokens and US dollars of a failed HTTP attempt that was billed. */
export const billedSchema = z.object({ usage: usageSchema, costUsd: z.number().nullable() });

export type Billed = z.output<typeof billedSchema>;

export const retrySchema = z.object({
  attempt: z.number().int(),
  reason: z.string(),
  waitedMs: z.number(),
  billed: billedSchema.exactOptional(),
});

export type Retry = z.output<typeof retrySchema>;

export const LIMIT_REASONS = ["concurrency", "rate", "tokens", "server"] as const;

export type LimitReason = (typeof LIMIT_REASONS)[number];

/** What happens to a call before its reply. */
export type CallProgress =
  /** It waits in the rate limiter. */
  | { readonly type: "queued" }
  /** An attempt is under way; `waitedFor`: why the rate limiter made it wait, null where it did not. */
  | { readonly type: "calling"; readonly waitedFor?: LimitReason | null | undefined }
  /** An attempt failed; the next one begins after `waitedMs`. */
  | { readonly type: "retry"; readonly retry: Retry };

/** Time before the reply: for a slot or a limit, in an attempt that failed, or in the pause after one. */
export const callWaitSchema = z.object({
  kind: z.enum(["slot", "throttled", "failed_attempt", "pause"]),
  durationMs: z.number().nonnegative(),
});

export type CallWait = z.output<typeof callWaitSchema>;

/**
 * Port. `complete` answers or throws a `ModelError`; when `signal` aborts it rejects with the
 * signal's reason and sends nothing more.
 */
export interface Model {
  readonly id: string;
  complete(request: ModelRequest, signal: AbortSignal): Promise<Completion>;
}

/** `unavailable`: the account is empty, or the server asks for a longer wait than the retries allow. */
export const MODEL_ERROR_KINDS = [
  "auth",
  "not_found",
  "bad_request",
  "context_overflow",
  "refused",
  "rate_limit",
  "unavailable",
  "overloaded",
  "server",
  "network",
  "timeout",
  "protocol",
] as const;

export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

type ModelErrorDetails = Pick<
  ModelError,
  "status" | "retryable" | "unreachable" | "retryAfterMs" | "retries" | "billed"
>;

type ModelErrorChanges = Partial<ModelErrorDetails> & { readonly kind?: ModelErrorKind; readonly message?: string };

/** A call without a usable reply. The message never holds a key or a request body. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly status: number | null;
  /** Worth another attempt: 408, 409, 429, 5xx, resets, timeouts, truncated bodies. */
  readonly retryable: boolean;
  /** No connection was established: no request was sent. */
  readonly unreachable: boolean;
  /** Wait requested by the server, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** Earlier failed attempts; set by the retry middleware. */
  readonly retries: readonly Retry[];
  /** For a reply that was billed but is unusable. */
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

  /** The same error with other details, and without its cause. */
  with({ kind = this.kind, message = this.message, ...changes }: ModelErrorChanges): ModelError {
    const { status, retryable, unreachable, retryAfterMs, retries, billed } = this;
    return new ModelError(kind, message, {
      ...{ status, retryable, unreachable, retryAfterMs, retries, billed },
      ...changes,
    });
  }

  /** Tokens and cost of the call, earlier failed attempts included; null if nothing was billed. */
  get billedInAll(): Billed | null {
    return sumBilled([...this.retries.map(({ billed }) => billed), this.billed]);
  }
}

/** The sum of several attempts, or null if none was billed. The cost is null if one of them has an unknown cost. */
export function sumBilled(attempts: readonly (Billed | null | undefined)[]): Billed | null {
  return attempts.reduce<Billed | null>((sum, billed) => {
    if (!billed || sum === null) return billed ?? sum;
    return { usage: addUsage(sum.usage, billed.usage), costUsd: addCost(sum.costUsd, billed.costUsd) };
  }, null);
}

/** Null if any cost is unknown: a partial sum would look complete. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** Of a `protocol` error that every call of the address will have. */
export const ANSWERED_WEB_PAGE = "it answers with a web page (HTML), and not as a model's API";

/**
 * A call the model asks for. `invalid` holds the raw text where the provider sent arguments that are
 * not a JSON object; `arguments` is then `{}` and the call is answered with an error, never made.
 */
export const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonValueSchema,
  invalid: z.string().optional(),
});

export type ToolCall = Readonly<z.output<typeof toolCallSchema>>;

/**
 * What a provider wants back untouched in the next request (Anthropic thinking blocks, Gemini thought
 * signatures, OpenAI reasoning items). Only the provider that wrote it, and `reasoningText`, read `value`.
 */
export const providerStateSchema = z.object({ provider: z.string(), value: jsonValueSchema });

/** Provider-neutral messages; the system prompt travels beside them. */
export const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({ role: z.literal("user"), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    toolCalls: z.array(toolCallSchema),
    /** Reasoning that the server left in the text. Never sent back. */
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
export type ToolMessage = Extract<Message, { role: "tool" }>;

/**
 * One reply. `latencyMs` is the successful attempt alone; `usage` and `costUsd` include failed attempts that were
 * billed, which `retries` lists.
 */
export const completionSchema = z.object({
  content: z.string(),
  toolCalls: z.array(toolCallSchema),
  /** Reasoning that the server left in the text; absent if none. */
  reasoning: z.string().optional(),
  /** Parts that the server left in the text; absent if none. */
  unparsed: z.array(z.enum(["reasoning", "tool_call"])).optional(),
  finishReason: z.enum(FINISH_REASONS),
  /** As the provider names it. */
  rawFinishReason: z.string(),
  /** The model that answered, as the server names it; absent where it names none. */
  model: z.string().optional(),
  /** By which the provider finds the reply in its own logs; absent where it gives none. */
  responseId: z.string().optional(),
  /** Null where the server did not say. */
  usage: usageSchema.nullable(),
  providerState: providerStateSchema.optional(),
  /** Undefined where nothing was sent: offline models, and replies cached by older versions. */
  sent: sentParametersSchema.optional(),
  latencyMs: z.number().nonnegative(),
  /** Time spent on rate limiting, failed attempts and pauses between them; absent if none. */
  waitedMs: z.number().nonnegative().optional(),
  /** What that time went into, in order; absent where there was none, or it is not known. */
  waits: z.array(callWaitSchema).optional(),
  retries: z.array(retrySchema),
  /** From the cache of an earlier run (`--cache`): no request was made. */
  cached: z.boolean().optional(),
  /** US dollars, as the server reports it or as a cached or recorded reply cost; absent if today's price applies. */
  costUsd: z.number().nullable().optional(),
  /** What is odd about the server, for the user; a note per run. */
  notes: z.array(z.string()).optional(),
});

export type Completion = Readonly<z.output<typeof completionSchema>>;
