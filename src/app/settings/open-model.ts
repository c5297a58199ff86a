import { join } from "node:path";
import type { Model } from "../../domain/models/model.js";
import { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { cachingReplies } from "../../models/middleware/reply-cache.js";
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
}

/**
 * Opens a model beside an agent's, such as a judge's: with retries, and as many calls at once as its server takes.
 * Throws a UserError where it has no key.
 */
export async function openModel(
  name: ModelName,
  { server, timeoutMs, throttle }: ModelConnection,
  { env }: AppSettings,
): Promise<{ readonly model: Model; readonly throttle: RateLimiter }> {
  const endpoint = connectionOf(name.provider, { baseUrl: server, wireApi: null, timeoutMs }, env);
  const limiter = throttle ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null });
  return { model: await resolveModel(name, endpoint, DEFAULT_RETRY, limiter), throttle: limiter };
}

/** The same model; its replies are kept in the cache folder, so that none is paid for twice. */
export function keepReplies(model: Model, name: ModelName, server: string | null, { cacheDir }: AppSettings): Model {
  if (!isRemote(name.provider)) return model;
  const wireApi = name.provider === "openai" ? wireApiOf(null, server) : null;
  return cachingReplies(model, { model: name.id, baseUrl: server, wireApi }, join(cacheDir, "replies"));
}
