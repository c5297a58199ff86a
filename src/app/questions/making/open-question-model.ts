import { UserError } from "../../../domain/errors.js";
import type { Model, PriceOf } from "../../../domain/models/model.js";
import { isPriced, priceOfReply } from "../../../models/catalog/prices.js";
import type { RateLimiter } from "../../../models/middleware/rate-limiter.js";
import { parseModelName } from "../../../models/model-name.js";
import { warnOfOtherModel } from "../../run/warn-of-other-model.js";
import { serverOf } from "../../settings/endpoints.js";
import { keepReplies, openModel } from "../../settings/open-model.js";
import type { AppContext } from "../../use-case-context.js";
import type { ModelSpending } from "./model-spending.js";

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
  readonly throttle: RateLimiter;
  readonly baseUrl: string | null;
}

/**
 * Opens a model that makes or checks questions. Its replies are kept in the cache: a command that was stopped is given
 * again, and pays for nothing twice.
 */
export async function openQuestionModel(
  { model: id, baseUrl: flag, baseUrlFlag, maxCostUsd, throttle: shared }: QuestionModelOptions,
  spending: ModelSpending,
  { settings, note }: AppContext,
): Promise<QuestionModel> {
  const name = parseModelName(id, null, flag !== undefined);
  const baseUrl = serverOf(name.provider, flag, settings.env, baseUrlFlag);
  const priceOf: PriceOf = (usage, answeredBy) => priceOfReply(name.id, answeredBy, usage);
  if (maxCostUsd !== null && !isPriced(priceOf)) throw unknownPrice(name.id);
  const opened = await openModel(name, { server: baseUrl, timeoutMs: TIMEOUT_MS, throttle: shared }, settings);
  const kept = keepReplies(spending.limit.applyTo(opened.model, priceOf), name, { baseUrl, wireApi: null }, settings);
  const model = spending.countCached(warnOfOtherModel(kept, note));
  return { model, throttle: opened.throttle, baseUrl };
}

function unknownPrice(model: string): UserError {
  return new UserError(
    "price_unknown",
    `--max-cost cannot be kept: the price of ${model} is not known.`,
    "Leave --max-cost out, or take a model whose price is known.",
  );
}
