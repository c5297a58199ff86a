import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { parseHttpUrl } from "../platform/http.js";
import { trimEndOf } from "../platform/strings.js";
import type { ModelError } from "./model.js";
import { providerError, sentenceIn } from "./provider-errors.js";
import { hasOwnKey, NO_EXTRAS, type SentExtras } from "./request-extras.js";

export const OPENAI_URL = "https://api.openai.com/v1";

/** Placeholder for local servers without keys: the SDK requires one. */
export const NO_KEY = "no-key-needed";

/** The key, or no header if the user adds a key of their own. */
export function openaiHeaders({ apiKey, extras = NO_EXTRAS }: Endpoint): Record<string, string> {
  return apiKey === NO_KEY && hasOwnKey(extras) ? {} : { authorization: `Bearer ${apiKey}` };
}

/** The headers that an SDK sends, with the user's own: their key replaces the placeholder. */
export function withExtraHeaders({ apiKey, extras = NO_EXTRAS }: Endpoint) {
  const isReplaced = apiKey === NO_KEY && hasOwnKey(extras);
  return (headers: Record<string, string>): Record<string, string> => {
    const own = isReplaced ? Object.entries(headers).filter(([, value]) => !value.includes(NO_KEY)) : null;
    return { ...(own === null ? headers : Object.fromEntries(own)), ...extras.headers };
  };
}

/** Values that must not appear in an error or a trace. */
export function secretsOf({ apiKey, extras = NO_EXTRAS }: Endpoint): readonly string[] {
  return [apiKey, ...extras.secrets];
}

/** The URL of chat completions, at OpenAI or at a server that speaks like it. */
export function chatUrl({ baseUrl }: Endpoint): string {
  return urlBelow(baseUrl ?? OPENAI_URL, "/chat/completions");
}

/**
 * The URL of a path below a base URL, whose query stays behind it (Azure: `?api-version=...`). `version` is a last part
 * of the base's path that `path` begins with again.
 */
export function urlBelow(baseUrl: string, path: string, version = /(?!)/): string {
  const url = new URL(baseUrl);
  url.pathname = `${trimEndOf(url.pathname, "/").replace(version, "")}${path}`;
  return url.href;
}

/** The text of a message in a chat completion, which some servers send in parts. */
export const chatContentSchema = z.union([
  z.string(),
  z.array(z.looseObject({ text: z.string().optional() })).transform((parts) => parts.map((p) => p.text ?? "").join("")),
]);

/** Null stands for OpenAI's own server. */
export function isOpenaiServer(baseUrl: string | null): boolean {
  return baseUrl === null || new URL(baseUrl).hostname === "api.openai.com";
}

const statusSchema = z.object({ error: z.object({ code: z.coerce.number().int().min(400).max(599) }) });

/**
 * The failure in a reply of status 200, as OpenRouter and other gateways report that of the server behind them.
 * Null for every other reply. Without a status it counts as a fault of the server.
 */
export function failureInReply(body: unknown): ModelError | null {
  // Nearly every reply is none, and a schema would take longer to tell than the rest of the reading.
  if (typeof body !== "object" || body === null || !("error" in body) || "choices" in body) return null;
  const sentence = sentenceIn(body);
  if (sentence === null) return null;
  return providerError({ status: statusSchema.safeParse(body).data?.error.code ?? 500, message: sentence, body });
}

export interface EndpointSettings {
  readonly apiKey: string | null;
  /** Null: the provider's own server. */
  readonly baseUrl: string | null;
  /** For the openai provider only; null chooses by the server. */
  readonly wireApi: "chat" | "responses" | null;
  /** Of one attempt, the whole body included. */
  readonly timeoutMs: number;
  readonly extras?: SentExtras | undefined;
}

export interface Endpoint {
  readonly apiKey: string;
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
  /** What the user adds to each request; absent: nothing. */
  readonly extras?: SentExtras | undefined;
}

/** Checks a base URL and takes the slashes off its end. Throws a UserError that names the flag. */
export function checkBaseUrl(baseUrl: string): string {
  if (parseHttpUrl(baseUrl) === null) {
    throw new UserError(
      "bad_base_url",
      "--base-url is not the address of a model server.",
      "Give it as http(s)://host[:port]/path without a user name or password in it, such as http://localhost:8000/v1.",
    );
  }
  return trimEndOf(baseUrl.trim(), "/");
}
