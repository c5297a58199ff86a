import { UserError } from "../../../domain/errors.js";
import type { Model, PriceOf } from "../../../domain/models/model.js";
import { isPriced, type Price, priceAt, priceOfReply } from "../../../models/catalog/prices.js";
import { CostLimit } from "../../../models/middleware/limit-cost.js";
import { parseModelName } from "../../../models/model-name.js";
import { isRemote } from "../../../models/provider-names.js";
import { JUDGE_TIMEOUT_MS } from "../../score/create-judge.js";
import { serverOf } from "../../settings/endpoints.js";
import { keepReplies, openModel } from "../../settings/open-model.js";
import type { AppSettings } from "../../use-case-context.js";

export interface GenerationModelOptions {
  /** `provider/name`. */
  readonly model: string;
  /** US dollars for a million tokens; undefined: by the table. */
  readonly price?: Price | undefined;
  readonly maxCost: number;
}

export interface GenerationModel {
  readonly model: Model;
  readonly server: string | null;
  readonly limit: CostLimit;
}

/**
 * The model that writes evals, at its provider or where the environment says: rubrics are asked there later too. Its
 * replies are kept in the cache folder, so that none is paid for again; calls besides keep to the limit. Throws a
 * UserError for a missing key and an unknown price.
 */
export async function openGenerationModel(
  { model: id, price, maxCost }: GenerationModelOptions,
  settings: AppSettings,
): Promise<GenerationModel> {
  const name = parseModelName(id, null);
  if (!isRemote(name.provider)) {
    throw new UserError(
      "model_unfit",
      `--model ${id} writes no evals.`,
      "Name one of a provider, such as anthropic/claude-sonnet-5.",
    );
  }
  const server = serverOf(name.provider, undefined, settings.env);
  const priceOf: PriceOf = (usage, answeredBy) =>
    price === undefined ? priceOfReply(name.id, answeredBy, usage) : priceAt(price, usage);
  const { model: remote } = await openModel(name, { server, timeoutMs: JUDGE_TIMEOUT_MS, priceOf }, settings);
  if (!isPriced(priceOf)) {
    throw new UserError(
      "price_unknown",
      `--max-cost cannot be kept: the price of ${name.id} is not known.`,
      "Give it: --price IN,OUT in US dollars for a million tokens.",
    );
  }
  const limit = new CostLimit(maxCost);
  const model = limit.applyTo(remote, priceOf);
  return { model: keepReplies(model, name, { baseUrl: server, wireApi: null }, settings), server, limit };
}
