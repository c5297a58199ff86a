import { join } from "node:path";
import type { Model } from "../../../domain/models/model.js";
import { priceOf, priceOfReply } from "../../../models/catalog/prices.js";
import { checkBaseUrl } from "../../../models/endpoint.js";
import { RateLimiter } from "../../../models/middleware/rate-limiter.js";
import { cachingReplies } from "../../../models/middleware/reply-cache.js";
import { withPrices } from "../../../models/middleware/with-prices.js";
import { parseModelName } from "../../../models/model-name.js";
import { isRemote } from "../../../models/provider-names.js";
import { resolveModel, wireApiOf } from "../../../models/resolve-model.js";
import { DEFAULT_RETRY } from "../../../platform/retry.js";
import { warnOfOtherModel } from "../../run/warn-of-other-model.js";
import { baseUrlOf, connectionOf } from "../../settings/endpoints.js";
import type { AppContext } from "../../use-case-context.js";
import { requirePrice, type Spending } from "./metered-model.js";

/** Of one call. A batch of mails is long, and a model may think about it. */
const TIMEOUT_MS = 300_000;

export interface QuestionModelOptions {
  /** provider/model */
  readonly model: string;
  readonly baseUrl: string | undefined;
  /** The flag that gives the address, for messages. */
  readonly baseUrlFlag: string;
  readonly maxCostUsd: number | null;
  /** That of another model on the same account; null creates one. */
  readonly throttle: RateLimiter | null;
}

export interface QuestionModel {
  readonly model: Model;
  readonly throttle: RateLimiter | null;
  readonly baseUrl: string | null;
  /** US dollars for tokens in and out; null where the price is not known. */
  priceOf(inputTokens: number, outputTokens: number): number | null;
}

/**
 * Opens a model that makes or checks questions. Its replies are kept in the cache: a command that was stopped is given
 * again, and pays for nothing twice.
 */
export async function openQuestionModel(
  { model: id, baseUrl: flag, baseUrlFlag, maxCostUsd, throttle: shared }: QuestionModelOptions,
  spending: Spending,
  { settings, note }: AppContext,
): Promise<QuestionModel> {
  const name = parseModelName(id, null, flag !== undefined);
  const given = baseUrlOf(name.provider, flag, settings.env, baseUrlFlag);
  const baseUrl = given === null ? null : checkBaseUrl(given);
  const endpoint = connectionOf(name.provider, { baseUrl, wireApi: null, timeoutMs: TIMEOUT_MS }, settings.env);
  const price = (inputTokens: number, outputTokens: number) =>
    priceOf(name.id, { inputTokens, outputTokens, cachedInputTokens: 0 });
  requirePrice(maxCostUsd, name.id, price(1_000_000, 1_000_000));
  const throttle = isRemote(name.provider)
    ? (shared ?? new RateLimiter({ concurrency: "auto", rpm: null, tpm: null }))
    : null;
  const resolved = await resolveModel(name, endpoint, DEFAULT_RETRY, throttle);
  const priced = withPrices(resolved, (usage, answeredBy) => priceOfReply(name.id, answeredBy, usage));
  const wireApi = name.provider === "openai" ? wireApiOf(null, baseUrl) : null;
  const cached = isRemote(name.provider)
    ? cachingReplies(priced, { model: name.id, baseUrl, wireApi }, join(settings.cacheDir, "replies"))
    : priced;
  return { model: spending.metered(warnOfOtherModel(cached, note)), throttle, baseUrl, priceOf: price };
}
