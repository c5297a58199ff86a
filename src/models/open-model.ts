// Builds a model from its client and the decorators around it, in the order that the architecture page explains.
import { join } from "node:path";
import type { AppSettings } from "../platform/app-context.js";
import { type Environment, keyFor, refuseStrangeAddress } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../platform/retry-delay.js";
import { otherModelNotes } from "./answering-model.js";
import { cachingReplies } from "./cache.js";
import type { CostLimit } from "./call-budget.js";
import { noteEachOnce, withPrices } from "./call-cost.js";
import { connectionOf, hasKey } from "./connections.js";
import { checkBaseUrl, type Endpoint, type EndpointSettings, isOpenaiServer, NO_KEY } from "./endpoint.js";
import type { Model, PriceOf } from "./model.js";
import { ANSWERING_MODELS, API_KEY_VARIABLES, isRemote, type ModelName, type Provider } from "./model-names.js";
import { withRetry } from "./model-retries.js";
import { withHints } from "./open-model/not-found-hints.js";
import { RateLimiter, type SharedLimiter, withRateLimit } from "./rate-limiter.js";
import { hasOwnKey, NO_EXTRAS, type SentExtras } from "./request-extras.js";
import { unparsedNotes, withSeparatedText } from "./unparsed-text.js";

interface OpenOptions {
  /** Address of a compatible server, or null for the provider's own server. */
  readonly baseUrl: string | null;
  /** Only for the openai provider. By default, the format depends on the server. */
  readonly wireApi?: EndpointSettings["wireApi"];
  /** Timeout per attempt in milliseconds, including the response body. */
  readonly timeoutMs: number;
  readonly extras?: SentExtras | undefined;
  /** Rate limiter of another model on the same account. By default, a new one adapts to the server's limits. */
  readonly throttle?: RateLimiter | null;
  /** Limits shared with other machines, for a newly created rate limiter. */
  readonly shared?: SharedLimiter | undefined;
  /** Defaults to the price table. */
  readonly priceOf?: PriceOf | undefined;
  readonly costLimit?: CostLimit | undefined;
  /** Store replies in the cache folder, so that repeated requests are not billed again. */
  readonly cache?: boolean;
  /** Receives notes about replies from a different model than requested and other unusual replies. */
  readonly note?: (text: string) => void;
}

interface ModelAtServer {
  readonly model: string;
  readonly baseUrl?: string | null | undefined;
}

/**
 * Opens a model for a run, a judge or a command. From the inside out, the decorators are: prices, rate limiter,
 * retries, cost limit, cache. Throws a UserError if the API key is missing.
 */
export async function openModel(
  name: ModelName,
  {
    baseUrl,
    wireApi = null,
    timeoutMs,
    extras,
    throttle,
    shared,
    costLimit,
    cache = false,
    note,
    ...options
  }: OpenOptions,
  { env, cacheDir }: AppSettings,
): Promise<{ readonly model: Model; readonly throttle: RateLimiter }> {
  const limiter = throttle ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null, shared });
  const connection = connectionOf(name.provider, { baseUrl, wireApi, timeoutMs, extras }, env);
  const priceOf = options.priceOf ?? (await pricesOf(name));
  let model = await resolveModel(name, connection, DEFAULT_RETRY, limiter, priceOf);
  if (costLimit !== undefined) model = costLimit.applyTo(model, priceOf);
  if (cache && isRemote(name.provider)) {
    const checked = baseUrl === null ? null : checkBaseUrl(baseUrl);
    const server = {
      model: name.id,
      baseUrl: checked,
      wireApi: name.provider === "openai" ? wireApiOf(wireApi, checked) : null,
      ...extras?.recorded,
    };
    model = cachingReplies(model, server, join(cacheDir, "replies"));
  }
  return { model: note === undefined ? model : noteReplies(model, note), throttle: limiter };
}

/** Decorates a model: reports replies from another model, unparsed replies, and the notes in replies. */
export function noteReplies(model: Model, note: (text: string) => void): Model {
  const { id } = model;
  const noteAll = noteEachOnce(note);
  return {
    id,
    async complete(request, signal) {
      const reply = await model.complete(request, signal);
      const own = (reply.notes ?? []).map((text) => `${id}: ${text}`);
      noteAll([...otherModelNotes(id, reply.model), ...unparsedNotes(id, reply.unparsed), ...own]);
      return reply;
    },
  };
}

/** Returns prices from the table. The table is half a megabyte, so it is loaded only for models that cost money. */
export async function pricesOf({ id, provider }: ModelName): Promise<PriceOf> {
  if (!isRemote(provider)) return () => 0;
  const { priceOfReply } = await import("./price-lookup.js");
  return (usage, answeredBy) => priceOfReply(id, answeredBy, usage);
}

/** Returns whether two models share a rate limiter, because limits apply per account. */
export function isSameAccount(a: ModelAtServer, b: ModelAtServer): boolean {
  const providerOf = ({ model }: ModelAtServer) => model.split("/")[0];
  return providerOf(a) === providerOf(b) && a.baseUrl === b.baseUrl;
}

const PROVIDERS = Object.keys(ANSWERING_MODELS) as (keyof typeof ANSWERING_MODELS)[];

/** Returns the default model of the first provider with a key, or null if no key is set. */
export function answeringModelOf(env: Environment): string | null {
  const provider = PROVIDERS.find((name) => hasKey(name, env));
  return provider === undefined ? null : ANSWERING_MODELS[provider];
}

/**
 * Creates a model with prices, retries and rate limiting. SDKs are loaded only if their provider is used. Throws a
 * UserError for a missing key, an unusable base URL, an unknown offline model, or an unreadable replay file.
 */
export async function resolveModel(
  name: ModelName,
  connection: EndpointSettings,
  retry: RetryPolicy = DEFAULT_RETRY,
  throttle: RateLimiter | null = null,
  priceOf: PriceOf | null = null,
): Promise<Model> {
  const priced = (model: Model) => (priceOf === null ? model : withPrices(model, priceOf));
  if (connection.wireApi !== null && name.provider !== "openai") {
    throw new UserError(
      "wire_api_unsupported",
      `--wire-api ${connection.wireApi} is unsupported for ${name.id}.`,
      "Remove it: only the openai provider has more than one wire format.",
    );
  }
  switch (name.provider) {
    case "offline": {
      const { offlineModel } = await import("./providers/offline.js");
      return priced(offlineModel(name.name));
    }
    case "replay": {
      const { replayModel } = await import("./replay.js");
      return priced(await replayModel(name.name));
    }
    default: {
      // Prices belong inside the retries, because a failed attempt might have been billed.
      const model = priced(withHints(withSeparatedText(await remoteModel(name, connection)), name, connection.baseUrl));
      // The rate limiter also belongs inside the retries, so that a call waiting for its next attempt does not occupy a
      // slot.
      return withRetry(throttle === null ? model : withRateLimit(model, throttle), retry);
    }
  }
}

async function remoteModel(name: ModelName, connection: EndpointSettings): Promise<Model> {
  const endpoint = endpointFor(name.provider, connection);
  switch (name.provider) {
    case "anthropic": {
      const { anthropicModel } = await import("./providers/anthropic.js");
      return anthropicModel(name.name, endpoint);
    }
    case "google": {
      const { googleModel } = await import("./providers/google.js");
      return googleModel(name.name, endpoint);
    }
    default: {
      if (wireApiOf(connection.wireApi, endpoint.baseUrl) === "chat") {
        const { openaiChatModel } = await import("./providers/openai-chat.js");
        return openaiChatModel(name.name, endpoint);
      }
      const { openaiResponsesModel } = await import("./providers/openai-responses.js");
      return openaiResponsesModel(name.name, endpoint);
    }
  }
}

/** Returns the wire format for the openai provider: the requested one, otherwise the better one for the server. */
export function wireApiOf(requested: EndpointSettings["wireApi"], baseUrl: string | null): "chat" | "responses" {
  return requested ?? (isOpenaiServer(baseUrl) ? "responses" : "chat");
}

function endpointFor(provider: Provider, connection: EndpointSettings): Endpoint {
  const baseUrl = connection.baseUrl === null ? null : checkBaseUrl(connection.baseUrl);
  const { extras = NO_EXTRAS } = connection;
  const needsNoKey = (provider === "openai" && baseUrl !== null) || hasOwnKey(extras);
  const apiKey = connection.apiKey?.trim() || (needsNoKey ? NO_KEY : "");
  if (apiKey === "") {
    const variables = API_KEY_VARIABLES[provider].join(" or ");
    throw new UserError(
      "api_key_missing",
      `No API key for ${provider}: ${variables} is not set.`,
      `Set ${variables} in the environment or in .env.`,
    );
  }
  // Such a key is not a valid header value, and the SDK's own error would reveal it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UserError(
      "api_key_invalid",
      `The API key for ${provider} contains white space or other invalid characters.`,
      `Check ${API_KEY_VARIABLES[provider].join(" or ")}.`,
    );
  }
  return { apiKey, baseUrl, timeoutMs: connection.timeoutMs, extras };
}

const PLAYGROUND = { url: "API_URL", keys: ["API_TOKEN"], flag: "--api-url" } as const;

export function playgroundUrlOf(env: Environment): string | undefined {
  const url = env.API_URL || undefined;
  if (url !== undefined) refuseStrangeAddress(PLAYGROUND, url, env);
  return url;
}

/** Returns the bearer token for a playground server, or an empty string if no token is set. */
export function playgroundTokenOf(url: string, env: Environment): string {
  return (keyFor(PLAYGROUND, url, env) ?? "").trim();
}
