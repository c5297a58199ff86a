// Converts the errors of SDKs and servers to a `ModelError` without keys.
import { z } from "zod";
import { durationMs, requestedWait } from "../platform/http.js";
import { parseJsonOrNull } from "../platform/json.js";
import { classifyFailure, classOf } from "./failure-classes.js";
import { ModelError } from "./model.js";

interface ProviderError {
  readonly status: number;
  /** One line without keys. */
  readonly message: string;
  readonly body?: unknown;
  readonly headers?: Headers | undefined;
}

const MAX_LENGTH = 300;

/** Certificate errors, which do not go away on a retry. */
const CERTIFICATE_CODES = /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/;

const TIMEOUT_CODES = /^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/;

/** Codes for connections that were never established. */
const UNREACHABLE_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;

/** System and undici codes. Excludes Node's own `ERR_...` codes, which indicate incorrect calls. */
const NETWORK_CODES = /^(E(?!RR_)[A-Z_]+|UND_ERR_[A-Z_]+)$/;

/** undici's errors for a proxy that requires a password. */
const PROXY_PASSWORD = /\(407\)/;

const NETWORK = /fetch failed|terminated|connection error|other side closed|socket hang up/i;

/** The relevant properties of the SDKs' HTTP errors. Each SDK sets only some of them. */
const httpErrorSchema = z.object({
  status: z.number().int(),
  message: z.string(),
  // `z.instanceof` would reference the class on startup, which loads Node's built-in undici in every run.
  headers: z
    .custom<Headers>((value) => value instanceof Headers)
    .optional()
    .catch(undefined),
  error: z.unknown().optional(),
});

/**
 * Converts any error from an SDK to a ModelError. Removes keys from the message, and does not keep the SDK's error as
 * the cause, because it might contain a key. Any other error is a bug in this program and is returned unchanged.
 */
export function toModelError(error: unknown, secrets: readonly string[]): unknown {
  // Our own fetch threw it, and an SDK might have wrapped it.
  const ours = causesOf(error).find((at) => at instanceof ModelError);
  if (ours !== undefined) return ours.with({ message: scrub(ours.message, secrets) });
  const http = httpErrorSchema.safeParse(error);
  if (http.success) {
    const { status, headers, error: body } = http.data;
    return providerError({ status, message: scrub(describe(body, http.data.message), secrets), body, headers });
  }
  if (error instanceof SyntaxError) {
    return new ModelError("protocol", "the reply is not JSON, or is incomplete", { retryable: true });
  }
  if (error instanceof z.ZodError) {
    const where = error.issues[0]?.path.join(".") ?? "";
    const message = `the reply does not have the provider's format${where === "" ? "" : ` (at ${where})`}`;
    return new ModelError("protocol", message, { retryable: true });
  }
  return networkError(error, secrets) ?? error;
}

/** Returns an error and its causes, up to five levels. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < 5; at = at.cause) chain.push(at);
  return chain;
}

type Field = readonly [name: string, value: unknown];

/** Returns the fields of an error body at any depth: of the error, its details (Google) and metadata (OpenRouter). */
function fieldsIn(body: unknown, depth = 0): Field[] {
  if (typeof body !== "object" || body === null || depth > MAX_DEPTH) return [];
  return Object.entries(body).flatMap((field): Field[] => [field, ...fieldsIn(field[1], depth + 1)]);
}

/** Deeper than any error. */
const MAX_DEPTH = 6;

/** Fields that identify the kind of an error, also at MiniMax (`status_code`). */
const CODES = ["code", "type", "status", "status_code", "reason"];

/** Returns the texts and numbers in fields with these names. */
const valuesOf = (fields: readonly Field[], names: readonly string[]) =>
  fields.flatMap(([name, value]) => (names.includes(name) && typeof value !== "object" ? [String(value)] : []));

/** Returns the lowercase codes, types, statuses and reasons in an error body. */
export function codesIn(body: unknown): string[] {
  return valuesOf(fieldsIn(body), CODES).map((code) => code.toLowerCase());
}

/** Returns the error for an HTTP status, or for an equivalent code in a 200 reply. */
export function providerError({ status, message, body = null, headers }: ProviderError): ModelError {
  const fields = fieldsIn(body);
  const sentence = sentenceIn(body) ?? message;
  if (status === 407) return proxyError();
  const failure = classifyFailure({
    status,
    message: sentence,
    codes: codesIn(body),
    isDeclined: fields.some(([name, value]) => name === "reasons" && Array.isArray(value) && value.length > 0),
    isWebPage: message.startsWith(WEB_PAGE_SENT),
    quotas: valuesOf(fields, ["quotaId", "quotaValue"]),
  });
  const isLimited = failure.kind === "rate_limit";
  const askedWait = waitOf(fields, headers, isLimited) ?? durationMs(WAIT.exec(sentence)?.[1] ?? "");
  // A daily or monthly limit outlasts all retries.
  const isLongLimit = isLimited && askedWait === null && LONG_LIMIT.test(sentence);
  const { kind, consequence } = isLongLimit ? classOf("unavailable") : failure;
  const text = kind === "refused" ? message : `${status} ${message}`.trim();
  const canChange = consequence === "retried" || consequence === "fails";
  const serverSays = canChange ? headers?.get("x-should-retry")?.toLowerCase() : null;
  const retryable = serverSays === "true" || (consequence === "retried" && serverSays !== "false");
  return new ModelError(kind, text, { status, retryable, retryAfterMs: retryable ? askedWait : null });
}

/**
 * Returns the wait in milliseconds that a server requests, or null if it requests none. Reads the headers, and fields
 * of the error with similar names: `retry_after`, Google's `retryDelay`, and the upstream server's headers at
 * OpenRouter.
 */
function waitOf(fields: readonly Field[], headers = new Headers(), isLimited: boolean): number | null {
  const inBody = fields
    .filter(([name, value]) => value != null && WAIT_FIELD.test(name) && /^[\x20-\x7e]{1,100}$/.test(String(value)))
    .map(([name, value]): [string, string] => [name.replace(/_?delay/i, "-after").replace(...KEBAB), String(value)]);
  return requestedWait(headers, isLimited) ?? requestedWait(new Headers(inBody), isLimited);
}

const WAIT_FIELD = /^(?:retry[-_]?(?:after|delay)|[\w-]*rate-?limit)[\w-]*$/i;

const KEBAB = [/_|(?<=[a-z])(?=[A-Z])/g, "-"] as const;

/** Returns the error of a proxy that requires a user name and a password, which fails every request. */
function proxyError(): ModelError {
  const message =
    "407 the proxy requires a user name and a password: set HTTP_PROXY or HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT";
  return new ModelError("network", message, { status: 407, retryable: false, unreachable: true });
}

const LONG_LIMIT = /\b(?:per|a) (?:day|month)\b|\/ ?(?:day|month)\b|\b(?:daily|weekly|monthly)\b|-per-day\b/i;

/** A wait in a message such as "Please retry after 26 seconds". */
const WAIT = /(?:(?:try again|retry|retrying) (?:in|after)|please wait(?: for)?) (.*)/is;

const WEB_PAGE_SENT = "the server returned a web page";

/** Returns the server's message from the body, otherwise the SDK's message. Of a web page, only its title is shown. */
function describe(body: unknown, message: string): string {
  const text = sentenceIn(body) ?? message.replace(/^\d{3} /, "");
  if (!/^\s*<(?:!doctype|html|head)\b/i.test(text)) return text;
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim() ?? "";
  return title === "" ? WEB_PAGE_SENT : `${WEB_PAGE_SENT}: ${title}`;
}

const fieldsSchema = z.record(z.string(), z.unknown()).catch({});

/** Fields that contain an error's message. */
const MESSAGES = ["message", "error_description", "error_message", "msg", "status_msg", "Message"];

/** Fields that contain an error, also at MiniMax (https://platform.minimax.io/docs/api-reference/errorcode). */
const ERRORS = ["error", "errors", "detail", "base_resp"];

/** Pydantic's form of an invalid field, at FastAPI servers (https://fastapi.tiangolo.com/tutorial/handling-errors). */
const invalidFieldSchema = z
  .object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })
  .transform(({ loc, msg }) => `${loc.join(".")}: ${msg}`);

/**
 * Returns the message in a server's error body, or null if it has none. Supports `{error: {message}}` from OpenAI and
 * Google, including in an array, `{detail}` from FastAPI, `{errors: [{message}]}` from Cloudflare, `{error: "..."}` and
 * `{message}`.
 */
export function sentenceIn(body: unknown, depth = 0): string | null {
  if (depth > 4) return null;
  if (typeof body === "string") return body.trim() === "" ? null : body;
  if (Array.isArray(body)) {
    const invalid = z.array(invalidFieldSchema).min(1).safeParse(body).data;
    return invalid === undefined ? sentenceIn(body[0], depth + 1) : invalid.slice(0, 3).join("; ");
  }
  const fields = fieldsSchema.parse(body);
  const message = firstText(MESSAGES.map((name) => fields[name]));
  if (message === "") {
    const inner = ERRORS.map((name) => (fields[name] == null ? null : sentenceIn(fields[name], depth + 1)));
    return inner.find((sentence) => sentence !== null) ?? null;
  }
  // The invalid parameter, at OpenAI and compatible servers.
  const param = firstText([fields.param]);
  const code = firstText([fields.code, fields.error]);
  const about = [code, message.includes(param) ? "" : param].filter((word) => word !== "");
  const sentence = about.length > 0 ? `${message} (${about.join(", ")})` : message;
  // OpenRouter: the message of the upstream provider.
  const raw = firstText([fieldsSchema.parse(fields.metadata).raw]);
  return raw === "" ? sentence : `${sentence}: ${sentenceIn(parseJsonOrNull(raw), depth + 1) ?? raw}`;
}

function firstText(values: readonly unknown[]): string {
  return values.find((value): value is string => typeof value === "string" && value.trim() !== "") ?? "";
}

function networkError(error: unknown, secrets: readonly string[]): ModelError | null {
  const chain = causesOf(error);
  const codes = chain.map((at) => ("code" in at ? String(at.code) : ""));
  const untrusted = codes.find((word) => CERTIFICATE_CODES.test(word));
  if (untrusted !== undefined) {
    const message = `the server's TLS certificate is not trusted (${untrusted}): set NODE_EXTRA_CA_CERTS to the path of its CA certificate`;
    return new ModelError("network", message, { retryable: false, unreachable: true });
  }
  if (chain.some((at) => PROXY_PASSWORD.test(at.message))) return proxyError();
  const code = codes.find((word) => NETWORK_CODES.test(word));
  if (code === undefined && !chain.some((at) => NETWORK.test(at.message))) return null;
  const kind = code !== undefined && TIMEOUT_CODES.test(code) ? "timeout" : "network";
  const last = chain.at(-1)?.message ?? "";
  const message = scrub(
    `connection failed: ${last}${code === undefined || last.includes(code) ? "" : ` (${code})`}`,
    secrets,
  );
  return new ModelError(kind, message, { retryable: true, unreachable: UNREACHABLE_CODES.test(code ?? "") });
}

/** Shortens a text to one line, and redacts `secrets` and anything that looks like a key. */
export function scrub(text: string, secrets: readonly string[]): string {
  const long = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
  const line = long
    .reduce((rest, secret) => rest.replaceAll(secret, "[key]"), text)
    .replace(/\b(sk|pk|rk|xai|gsk|hf)[-_][A-Za-z0-9*_-]{6,}/g, "[key]")
    .replace(/\bAIza[A-Za-z0-9*_-]{6,}/g, "[key]")
    .replace(/\bBearer\s+\S+/gi, "Bearer [key]")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line;
}
