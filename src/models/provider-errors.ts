import { z } from "zod";
import { parseRetryAfter } from "../platform/http.js";
import { parseJsonOrNull } from "../platform/json.js";
import { ModelError, type ModelErrorKind } from "./model.js";

const MAX_LENGTH = 300;

const CONTEXT_OVERFLOW =
  /prompt is too long|context_length_exceeded|context window|maximum context length|exceeds? the (maximum|available) (number of tokens|context)|input token count|too many (input )?tokens|exceed_context_size/i;

/** Out of credit: a 429 that no retry resolves. */
const NO_QUOTA = /insufficient_quota|exceeded your current quota, please check your plan|credit balance is too low/i;

/** Google says 400 where others say 401. */
const BAD_KEY = /api[ _]key not valid|api_key_invalid|API key expired/i;

/**
 * Error codes, types and reasons of a provider that declines a prompt or a reply for its content: OpenAI, Azure,
 * DashScope, Zhipu, and services behind OpenRouter.
 */
const REFUSAL_CODES =
  /^(content_filter|content_policy_violation|invalid_prompt|moderation_blocked|ResponsibleAIPolicyViolation|data_?inspection_?failed|1301|content_moderation.*|safety_check.*)$/i;

/** Providers that decline without a code of its own: Anthropic, DeepSeek, Moonshot, xAI, Bedrock. */
const REFUSAL_WORDS =
  /blocked by (the )?content filtering|content exists risk|considered high risk|violates? (our |the )?(usage|content|acceptable use) (guidelines|policy|policies)|flagged (for|by|as)|guardrail[s]? (has |have )?(blocked|intervened)|content management policy/i;

const TIMEOUT_CODES = /^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/;

/** No connection was established. */
const UNREACHABLE_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;

/** Of the system and of undici; not Node's own ERR_..., which are mistakes in a call. */
const NETWORK_CODES = /^(E(?!RR_)[A-Z_]+|UND_ERR_[A-Z_]+)$/;

const NETWORK = /fetch failed|terminated|connection error|other side closed|socket hang up/i;

/** The parts of the SDKs' HTTP errors that are read; each SDK has some of them. */
const httpErrorSchema = z.object({
  status: z.number().int(),
  message: z.string(),
  // Not z.instanceof: naming the class loads Node's own undici, here for every run.
  headers: z
    .custom<Headers>((value) => value instanceof Headers)
    .optional()
    .catch(undefined),
  error: z.unknown().optional(),
});

/**
 * Whatever an SDK threw, as a ModelError without a key in it and without the SDK's own error as its cause, which
 * may hold one. Any other throw is a bug of ours and is returned unchanged.
 */
export function toModelError(error: unknown, apiKey: string): unknown {
  const ours = modelErrorIn(error);
  if (ours !== null) return ours.with({ message: scrub(ours.message, apiKey) });
  const http = httpErrorSchema.safeParse(error);
  if (http.success) {
    const { status, headers, error: body } = http.data;
    const message = scrub(describe(body, http.data.message), apiKey);
    if (isRefusal(status, message, body)) return new ModelError("refused", message, { status, retryable: false });
    return httpError(status, message, retryAfterMs(headers, detailsOf(body)));
  }
  if (error instanceof SyntaxError) {
    return new ModelError("protocol", "the reply is not JSON, or was cut off", { retryable: true });
  }
  if (error instanceof z.ZodError) {
    const where = error.issues[0]?.path.join(".") ?? "";
    const message = `the reply is not of the provider's form${where === "" ? "" : ` (at ${where})`}`;
    return new ModelError("protocol", message, { retryable: true });
  }
  return networkError(error, apiKey) ?? error;
}

/** Also where an SDK has wrapped what our own fetch threw. */
function modelErrorIn(error: unknown): ModelError | null {
  return causesOf(error).find((at) => at instanceof ModelError) ?? null;
}

/** An error, what caused it, and so on, as far as anybody wraps them. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at);
  return chain;
}

/** Google's errors carry structured details beside their message. */
function detailsOf(body: unknown): readonly unknown[] {
  const parsed = z.object({ error: z.object({ details: z.array(z.unknown()) }) }).safeParse(body);
  return parsed.success ? parsed.data.error.details : [];
}

const refusalSchema = z.looseObject({
  code: z.coerce.string().catch(""),
  type: z.coerce.string().catch(""),
  innererror: z.looseObject({ code: z.string() }).optional().catch(undefined),
  // OpenRouter's moderation (openrouter.ai/docs/api-reference/errors).
  metadata: z
    .looseObject({ reasons: z.array(z.unknown()).min(1) })
    .optional()
    .catch(undefined),
});

/** Whether an error declines the content of one request. The status alone does not tell: a refused key is a 403 too. */
function isRefusal(status: number, message: string, body: unknown): boolean {
  if (status !== 400 && status !== 403 && status !== 422 && status !== 451) return false;
  const inner = z.object({ error: refusalSchema }).safeParse(body).data?.error;
  const { code = "", type = "", innererror, metadata } = inner ?? refusalSchema.safeParse(body).data ?? {};
  if ([code, type, innererror?.code ?? ""].some((name) => REFUSAL_CODES.test(name)) || metadata !== undefined)
    return true;
  return REFUSAL_WORDS.test(message);
}

/** An HTTP status, or a code of the same meaning inside a 200 reply. */
export function httpError(status: number, details: string, waitMs: number | null = null): ModelError {
  const { kind, retryable } = classify(status, details);
  return new ModelError(kind, `${status} ${details}`.trim(), { status, retryable, retryAfterMs: waitMs });
}

function classify(status: number, details: string): { kind: ModelErrorKind; retryable: boolean } {
  if ((status === 400 || status === 413 || status === 422) && CONTEXT_OVERFLOW.test(details)) {
    return { kind: "context_overflow", retryable: false };
  }
  if (status === 401 || status === 402 || status === 403 || BAD_KEY.test(details)) {
    return { kind: "auth", retryable: false };
  }
  if (status === 404) return { kind: "not_found", retryable: false };
  if (status === 408) return { kind: "timeout", retryable: true };
  if (status === 409) return { kind: "server", retryable: true };
  if (status === 429) return { kind: "rate_limit", retryable: !NO_QUOTA.test(details) };
  if (status === 503 || status === 529) return { kind: "overloaded", retryable: true };
  if (status >= 500) return { kind: "server", retryable: true };
  if (status >= 400) return { kind: "bad_request", retryable: false };
  return { kind: "protocol", retryable: false };
}

/** The server's own sentence if its body has one, otherwise the SDK's message. */
function describe(body: unknown, message: string): string {
  return sentenceIn(body) ?? message.replace(/^\d{3} /, "");
}

const sentenceSchema = z.looseObject({
  message: z.string(),
  code: z.unknown().optional(),
  // OpenRouter's: what the provider behind it said.
  metadata: z.looseObject({ raw: z.string() }).optional().catch(undefined),
});

/**
 * The sentence in a server's error body: OpenAI's and Google's `{error: {message}}`, also in an array, FastAPI's
 * `{detail}`, Cloudflare's `{errors: [{message}]}`, `{error: "..."}` and `{message}`. Null if it has none.
 */
export function sentenceIn(body: unknown, depth = 0): string | null {
  if (depth > 4) return null;
  if (typeof body === "string") return body.trim() === "" ? null : body;
  if (Array.isArray(body)) return sentenceIn(body[0], depth + 1);
  const said = sentenceSchema.safeParse(body).data;
  if (said !== undefined) {
    const { message, code, metadata } = said;
    const sentence = typeof code === "string" && code !== "" ? `${message} (${code})` : message;
    if (metadata === undefined) return sentence;
    const cause = sentenceIn(parseJsonOrNull(metadata.raw), depth + 1) ?? metadata.raw;
    return `${sentence}: ${cause}`;
  }
  const outer = z.record(z.string(), z.unknown()).safeParse(body).data ?? {};
  for (const field of ["error", "errors", "detail"]) {
    const sentence = outer[field] === undefined ? null : sentenceIn(outer[field], depth + 1);
    if (sentence !== null) return sentence;
  }
  return null;
}

function networkError(error: unknown, apiKey: string): ModelError | null {
  const chain = causesOf(error);
  const code = chain.map((at) => ("code" in at ? String(at.code) : "")).find((word) => NETWORK_CODES.test(word));
  if (code === undefined && !chain.some((at) => NETWORK.test(at.message))) return null;
  const kind = code !== undefined && TIMEOUT_CODES.test(code) ? "timeout" : "network";
  const last = chain.at(-1)?.message ?? "";
  const message = scrub(
    `connection failed: ${last}${code === undefined || last.includes(code) ? "" : ` (${code})`}`,
    apiKey,
  );
  return new ModelError(kind, message, { retryable: true, unreachable: UNREACHABLE_CODES.test(code ?? "") });
}

/** One line, shortened, with everything that looks like a key blacked out. */
export function scrub(text: string, apiKey: string): string {
  const line = (apiKey.length >= 4 ? text.replaceAll(apiKey, "[key]") : text)
    .replace(/\b(sk|pk|rk|xai|gsk|hf)[-_][A-Za-z0-9*_-]{6,}/g, "[key]")
    .replace(/\bAIza[A-Za-z0-9*_-]{6,}/g, "[key]")
    .replace(/\bBearer\s+\S+/gi, "Bearer [key]")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}

/** google.rpc.RetryInfo, inside the body of an error; the delay is a protobuf Duration such as `34.07s`. */
const retryInfoSchema = z.object({
  "@type": z.string().endsWith("google.rpc.RetryInfo"),
  retryDelay: z.string().regex(/^\d+(\.\d+)?s$/),
});

/**
 * How long a server asked us to wait, in ms, never negative; null where it did not say. Reads `retry-after-ms`,
 * `Retry-After` in seconds or as an HTTP date (RFC 9110, 10.2.3), and Google's RetryInfo.
 */
export function retryAfterMs(headers: Headers | undefined, errorDetails: readonly unknown[] = []): number | null {
  const exact = headers?.get("retry-after-ms");
  if (exact && Number.isFinite(Number(exact))) return Math.max(0, Number(exact));
  const asked = parseRetryAfter(headers?.get("retry-after"));
  if (asked !== null) return asked;
  for (const detail of errorDetails) {
    const info = retryInfoSchema.safeParse(detail);
    if (info.success) return Math.round(Number(info.data.retryDelay.slice(0, -1)) * 1000);
  }
  return null;
}
