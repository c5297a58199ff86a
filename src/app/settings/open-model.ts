import { join } from "node:path";
import type { Model, PriceOf } from "../../domain/models/model.js";
import { priceOfReply } from "../../models/catalog/prices.js";
import type { EndpointSettings } from "../../models/endpoint.js";
import { RateLimiter, type SharedLimiter } from "../../models/middleware/rate-limiter.js";
import { cachingReplies } from "../../models/middleware/reply-cache.js";
import { withPrices } from "../../models/middleware/with-prices.js";
import type { ModelName } from "../../models/model-name.js";
import { isRemote } from "../../models/provider-names.js";
import { resolveModel, wireApiOf } from "../../models/resolve-model.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import type { AppSettings } from "../use-case-context.js";
import { connectionOf } from "./endpoints.js";

export interface ModelConnection {
  /** Address of a compatible server; null: the provider's own. */
  readonly server: string | null;
  /** Of one call. */
  readonly timeoutMs: number;
  /** That of another model on the same account; undefined or null creates one. */
  readonly throttle?: RateLimiter | null;
  /** Limits that other machines keep too, of a rate limiter that is created. */
  readonly shared?: SharedLimiter | undefined;
  /** Undefined: by the table. */
  readonly priceOf?: PriceOf | undefined;
}

/**
 * Opens a model beside an agent's, such as a judge's: with retries, costs in its replies, and as many calls at
 * once as its server takes. Throws a UserError where it has no key.
 */
export async function openModel(
  name: ModelName,
  { server, timeoutMs, throttle, shared, priceOf }: ModelConnection,
  { env }: AppSettings,
): Promise<{ readonly model: Model; readonly throttle: RateLimiter }> {
  const endpoint = connectionOf(name.provider, { baseUrl: server, wireApi: null, timeoutMs }, env);
  const limiter = throttle ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null, shared });
  const model = await resolveModel(name, endpoint, DEFAULT_RETRY, limiter);
  const price: PriceOf = priceOf ?? ((usage, answeredBy) => priceOfReply(name.id, answeredBy, usage));
  return { model: withPrices(model, price), throttle: limiter };
}

/** The same model; its replies are kept in the cache folder, so that none is paid for twice. */
export function keepReplies(
  model: Model,
  { provider, id }: ModelName,
  { baseUrl, wireApi: asked }: Pick<EndpointSettings, "baseUrl" | "wireApi">,
  { cacheDir }: AppSettings,
): Model {
  if (!isRemote(provider)) return model;
  const wireApi = provider === "openai" ? wireApiOf(asked, baseUrl) : null;
  return cachingReplies(model, { model: id, baseUrl, wireApi }, join(cacheDir, "replies"));
}

interface ModelAtServer {
  /** `provider/name`. */
  readonly model: string;
  readonly baseUrl?: string | null | undefined;
}

/** Whether one rate limiter serves both: the limits are the account's. */
export function isSameAccount(a: ModelAtServer, b: ModelAtServer): boolean {
  const providerOf = ({ model }: ModelAtServer) => model.split("/")[0];
  return providerOf(a) === providerOf(b) && a.baseUrl === b.baseUrl;
}
