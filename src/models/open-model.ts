import { join } from "node:path";
import type { AppSettings } from "../platform/app-context.js";
import { type Environment, isFromFile, keyFor, refuseStrangeAddress } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { DEFAULT_ENDPOINT, type Hub } from "../platform/huggingface.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../platform/retry-delay.js";
import { warnOfOtherModel } from "./answering-model.js";
import { cachingReplies } from "./cache.js";
import type { CostLimit } from "./call-budget.js";
import { checkBaseUrl, type Endpoint, type EndpointSettings, isOpenaiServer, NO_KEY } from "./endpoint.js";
import { type Completion, type Model, ModelError, type PriceOf } from "./model.js";
import {
  ANSWERING_MODELS,
  API_KEY_VARIABLES,
  isRemote,
  type ModelName,
  type Provider,
  successorOf,
} from "./model-names.js";
import { withRetry } from "./model-retries.js";
import { withPrices } from "./prices.js";
import { RateLimiter, type SharedLimiter, withRateLimit } from "./rate-limiter.js";
import { noteUnparsedReplies, withSeparatedText } from "./reply-text.js";
import { hasOwnKey, NO_EXTRAS, type SentExtras } from "./request-extras.js";

interface OpenOptions {
  /** Address of a compatible server; null: the provider's own. */
  readonly baseUrl: string | null;
  /** For the openai provider only; null or left out: by the server. */
  readonly wireApi?: EndpointSettings["wireApi"];
  /** Of one attempt, the whole body included. */
  readonly timeoutMs: number;
  /** What the user adds to each request; left out: nothing. */
  readonly extras?: SentExtras | undefined;
  /** That of another model on the same account; null or left out: one that finds out what the server takes. */
  readonly throttle?: RateLimiter | null;
  /** Limits that other machines keep too, of a rate limiter that is created. */
  readonly shared?: SharedLimiter | undefined;
  /** Left out: by the table. */
  readonly priceOf?: PriceOf | undefined;
  readonly costLimit?: CostLimit | undefined;
  /** Keep replies in the cache folder, so that none is paid for twice. */
  readonly cache?: boolean;
  /** Hears of replies by another model than the one that was asked. */
  readonly note?: (text: string) => void;
}

/**
 * Opens a model for a run, a judge or a command. From the inside: costs in its replies, rate limiter, retries, cost
 * limit, cache. Throws a UserError if it has no key.
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
    ...given
  }: OpenOptions,
  { env, cacheDir }: AppSettings,
): Promise<{ readonly model: Model; readonly throttle: RateLimiter }> {
  const limiter = throttle ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null, shared });
  const connection = connectionOf(name.provider, { baseUrl, wireApi, timeoutMs, extras }, env);
  const priceOf = given.priceOf ?? (await pricesOf(name));
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

/** Bounds the notes: a server may cause a new one with each reply. */
const MAX_NOTES = 20;

/** The same model. Notes replies by another model, replies that its server did not parse, and their own notes. */
export function noteReplies(model: Model, note: (text: string) => void): Model {
  const noted = new Set<string>();
  const inner = noteUnparsedReplies(warnOfOtherModel(model, note), note);
  return {
    id: inner.id,
    async complete(request, signal) {
      const reply = await inner.complete(request, signal);
      for (const text of reply.notes ?? []) {
        if (noted.size < MAX_NOTES && !noted.has(text)) note(`${model.id}: ${text}`);
        noted.add(text);
      }
      return reply;
    },
  };
}

/** Prices by the table, which is loaded for models that cost something: it is half a megabyte. */
export async function pricesOf({ id, provider }: ModelName): Promise<PriceOf> {
  if (!isRemote(provider)) return () => 0;
  const { priceOfReply } = await import("./price-table.js");
  return (usage, answeredBy) => priceOfReply(id, answeredBy, usage);
}

interface ModelAtServer {
  readonly model: string;
  readonly baseUrl?: string | null | undefined;
}

/** Whether one rate limiter serves both: the limits are the account's. */
export function isSameAccount(a: ModelAtServer, b: ModelAtServer): boolean {
  const providerOf = ({ model }: ModelAtServer) => model.split("/")[0];
  return providerOf(a) === providerOf(b) && a.baseUrl === b.baseUrl;
}

const PROVIDERS = Object.keys(ANSWERING_MODELS) as (keyof typeof ANSWERING_MODELS)[];

/** The model that answers where none is named: of the first provider with a key. Null without a key. */
export function answeringModelOf(env: Environment): string | null {
  const provider = PROVIDERS.find((name) => hasKey(name, env));
  return provider === undefined ? null : ANSWERING_MODELS[provider];
}

/**
 * Creates the model of a name, with costs, retries and rate limiting. An SDK is loaded only when its provider is
 * named. Throws a UserError for a missing key, an unusable base URL, an unknown offline model, or an unreadable replay
 * file.
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
      "wrong_wire_api",
      `--wire-api ${connection.wireApi} does not fit ${name.id}.`,
      "Leave it out: only the openai provider has more than one wire format.",
    );
  }
  switch (name.provider) {
    case "offline": {
      const { offlineModel } = await import("./offline.js");
      return priced(offlineModel(name.name));
    }
    case "replay": {
      const { replayModel } = await import("./replay.js");
      return priced(await replayModel(name.name));
    }
    default: {
      // Prices inside the retries: a failed attempt may have been billed.
      const model = priced(withSuccessorHint(withSeparatedText(await remoteModel(name, connection)), name));
      // The rate limiter too: a call that waits for its next attempt holds no slot.
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

/** The wire format of the openai provider: as set, or else the better one for the server. */
export function wireApiOf(asked: EndpointSettings["wireApi"], baseUrl: string | null): "chat" | "responses" {
  return asked ?? (isOpenaiServer(baseUrl) ? "responses" : "chat");
}

function endpointFor(provider: Provider, connection: EndpointSettings): Endpoint {
  const baseUrl = connection.baseUrl === null ? null : checkBaseUrl(connection.baseUrl);
  const { extras = NO_EXTRAS } = connection;
  const needsNoKey = (provider === "openai" && baseUrl !== null) || hasOwnKey(extras);
  const apiKey = connection.apiKey?.trim() || (needsNoKey ? NO_KEY : "");
  if (apiKey === "") {
    const variables = API_KEY_VARIABLES[provider].join(" or ");
    throw new UserError(
      "no_api_key",
      `No API key for ${provider}: ${variables} is not set.`,
      `Set ${variables} in the environment or in .env, or try offline/baseline, which needs no key.`,
    );
  }
  // Not a valid header value; the SDK's own error would show the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UserError(
      "bad_api_key",
      `The API key for ${provider} holds white space or characters that no key has.`,
      `Check ${API_KEY_VARIABLES[provider].join(" or ")}.`,
    );
  }
  return { apiKey, baseUrl, timeoutMs: connection.timeoutMs, extras };
}

const HUB = { url: "HF_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ENDPOINT in the environment" };
const HUB_ROWS = { url: "HF_ROWS_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ROWS_ENDPOINT in the environment" };

export function hubOf(env: Environment): Hub {
  const endpoint = env.HF_ENDPOINT || null;
  const rows = env.HF_ROWS_ENDPOINT || null;
  if (endpoint !== null) refuseStrangeAddress(HUB, endpoint, env);
  if (rows !== null) refuseStrangeAddress(HUB_ROWS, rows, env);
  // Both endpoints use one token: that of `.env` where `.env` names either.
  const token =
    rows !== null && isFromFile(env, HUB_ROWS.url, rows) ? keyFor(HUB_ROWS, rows, env) : keyFor(HUB, endpoint, env);
  return { endpoint: endpoint ?? DEFAULT_ENDPOINT, rowsEndpoint: rows ?? undefined, token };
}

/** Variables with the address of a provider's server, where it is not the provider's own. */
const BASE_URL_VARIABLES: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GOOGLE_BASE_URL",
};

/** The environment variable with the address of a provider's server; null if the provider has none. */
export function baseUrlVariable(provider: Provider): string | null {
  return BASE_URL_VARIABLES[provider] ?? null;
}

function addressOf(provider: Provider, flag: string) {
  return { url: BASE_URL_VARIABLES[provider] ?? "", keys: API_KEY_VARIABLES[provider], flag };
}

/**
 * The address of a provider's server: of the flag, else of the environment; null for the provider's own. Throws a
 * UserError where a `.env` file would send keys of the environment to another server. `name` is the flag to recommend
 * then.
 */
export function baseUrlOf(
  provider: Provider,
  flag: string | undefined,
  env: Environment,
  name = "--base-url",
): string | null {
  if (flag !== undefined) return flag;
  const address = addressOf(provider, name);
  const value = env[address.url] || null;
  if (value !== null) refuseStrangeAddress(address, value, env);
  return value;
}

/** The same, checked, and without slashes at its end: replies and verdicts are kept by it. */
export function serverOf(provider: Provider, flag: string | undefined, env: Environment, name?: string): string | null {
  const baseUrl = baseUrlOf(provider, flag, env, name);
  return baseUrl === null ? null : checkBaseUrl(baseUrl);
}

/** Refuses like `baseUrlOf`, for an address that was stored with a run, and so was not given on this command line. */
export function refuseStoredAddress(provider: Provider, baseUrl: string | null, env: Environment): void {
  if (baseUrl !== null) refuseStrangeAddress(addressOf(provider, "--base-url"), baseUrl, env);
}

/** The endpoint of a provider with its key. Keys come from the environment only, so that no shell history has them. */
export function connectionOf(
  provider: Provider,
  reach: Omit<EndpointSettings, "apiKey">,
  env: Environment,
): EndpointSettings {
  return { ...reach, apiKey: keyFor(addressOf(provider, ""), reach.baseUrl, env) };
}

export function hasKey(provider: Provider, env: Environment): boolean {
  return API_KEY_VARIABLES[provider].some((variable) => env[variable]);
}

const PLAYGROUND = { url: "API_URL", keys: ["API_TOKEN"], flag: "--api-url" } as const;

/** The playground server that the environment names; undefined: none. */
export function playgroundUrlOf(env: Environment): string | undefined {
  const url = env.API_URL || undefined;
  if (url !== undefined) refuseStrangeAddress(PLAYGROUND, url, env);
  return url;
}

/** Bearer token for a playground server; empty where there is none. */
export function playgroundTokenOf(url: string, env: Environment): string {
  return (keyFor(PLAYGROUND, url, env) ?? "").trim();
}

const isRedirect = (status: number | null) => status !== null && status >= 300 && status < 400;

/** Decorates a model: where its server does not know it, the error names the replacement. */
function withSuccessorHint(model: Model, name: ModelName): Model {
  const successor = successorOf(name);
  if (successor === null) return model;
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      try {
        return await model.complete(request, signal);
      } catch (error) {
        // A redirect to another server has this kind too, and says nothing about the model.
        if (!(error instanceof ModelError) || error.kind !== "not_found" || isRedirect(error.status)) throw error;
        throw error.with({ message: `${error.message}; after ${name.name} came ${name.provider}/${successor}` });
      }
    },
  };
}
