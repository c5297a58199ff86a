// A server with its key and headers, as the SDKs need them.
import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { parseHttpUrl } from "../platform/http.js";
import { trimEndOf } from "../platform/trim-end.js";
import type { ModelError } from "./model.js";
import { codesIn, providerError, sentenceIn } from "./provider-errors.js";
import { hasOwnKey, NO_EXTRAS, type SentExtras } from "./request-extras.js";

export interface Endpoint {
  readonly apiKey: string;
  /** Server address, or null for the provider's default. */
  readonly baseUrl: string | null;
  /** Timeout per attempt in milliseconds, including the response body. */
  readonly timeoutMs: number;
  /** Headers and body fields that the user adds to each request. */
  readonly extras?: SentExtras | undefined;
}

export interface EndpointSettings extends Omit<Endpoint, "apiKey"> {
  readonly apiKey: string | null;
  /** Only for the openai provider. If null, the format depends on the server. */
  readonly wireApi: "chat" | "responses" | null;
}

export const OPENAI_URL = "https://api.openai.com/v1";

/** Placeholder key for local servers that need none, because the SDK requires one. */
export const NO_KEY = "no-key-needed";

export function openaiHeaders({ apiKey }: Endpoint): Record<string, string> {
  return { authorization: `Bearer ${apiKey}` };
}

/** Adds the user's headers to an SDK's headers. A key in the user's headers replaces the placeholder. */
export function withExtraHeaders({ apiKey, extras = NO_EXTRAS }: Endpoint) {
  const isReplaced = apiKey === NO_KEY && hasOwnKey(extras);
  return (headers: Record<string, string>): Record<string, string> => {
    const own = isReplaced ? Object.entries(headers).filter(([, value]) => !value.includes(NO_KEY)) : null;
    return { ...(own === null ? headers : Object.fromEntries(own)), ...extras.headers };
  };
}

/** Returns the values that must not appear in an error or a trace. */
export function secretsOf({ apiKey, extras = NO_EXTRAS }: Endpoint): readonly string[] {
  return [apiKey, ...extras.secrets];
}

export function chatUrl({ baseUrl }: Endpoint): string {
  return urlBelow(baseUrl ?? OPENAI_URL, "/chat/completions");
}

/**
 * Returns the URL of `path` below a base URL. The query of the base URL is kept at the end (Azure: `?api-version=...`).
 * `version` matches a final segment of the base path that `path` repeats.
 */
export function urlBelow(baseUrl: string, path: string, version = /(?!)/): string {
  const url = new URL(baseUrl);
  url.pathname = `${trimEndOf(url.pathname, "/").replace(version, "")}${path}`;
  return url.href;
}

/** Returns whether the base URL belongs to OpenAI. Null means OpenAI's default server. */
export function isOpenaiServer(baseUrl: string | null): boolean {
  return baseUrl === null || new URL(baseUrl).hostname === "api.openai.com";
}

/** Fields of successful replies, one or more per wire format. */
const REPLY_FIELDS = ["choices", "content", "output", "output_text", "candidates", "promptFeedback"];

/**
 * Returns the failure in a reply with status 200, or null for a successful reply. OpenRouter and other gateways report
 * failures of the upstream server this way, as `error` or as a message in place of the reply. A failure without a
 * status counts as a server error, unless it says that the request is invalid.
 */
export function failureInReply(reply: unknown): ModelError | null {
  // Very few replies contain a failure, and checking a schema would take longer than the rest of the parsing.
  if (typeof reply !== "object" || reply === null) return null;
  const fields = reply as Readonly<Record<string, unknown>>;
  if (Array.isArray(fields.choices) && fields.choices.length > 0) return null;
  const isReply = REPLY_FIELDS.some((field) => fields[field] != null);
  const sentence = isReply && fields.error == null ? null : sentenceIn(reply);
  if (sentence === null) return null;
  const codes = codesIn(fields.error ?? fields);
  const status = codes.map(Number).find((code) => code >= 400 && code < 600);
  const isInvalid = codes.some((code) => /invalid|bad_?request|unsupported/.test(code)) || isDeclinedResponse(reply);
  return providerError({ status: status ?? (isInvalid ? 400 : 500), message: sentence, body: reply });
}

/** Returns whether a failed reply of the Responses API has another code than that of a fault of the server. */
function isDeclinedResponse(body: object): boolean {
  const failed = z.object({ status: z.literal("failed"), error: z.object({ code: z.string() }) }).safeParse(body).data;
  return failed !== undefined && failed.error.code !== "server_error";
}

/** The path of a request, which people copy together with the base URL. */
const REQUEST_PATH = /\/(?:(?:chat\/)?completions|responses|messages|models\/[^/]+:\w+)\/*(?=\?|$)/;

/**
 * Validates a base URL, and strips the path of a request and trailing slashes. Throws a UserError that mentions the
 * flag.
 */
export function checkBaseUrl(baseUrl: string): string {
  if (parseHttpUrl(baseUrl) === null) {
    throw new UserError(
      "base_url_invalid",
      "--base-url: expected the URL of a model server.",
      "Pass http(s)://HOST[:PORT]/PATH without a user name or password, such as http://localhost:8000/v1.",
    );
  }
  return trimEndOf(baseUrl.trim().replace(REQUEST_PATH, ""), "/");
}
