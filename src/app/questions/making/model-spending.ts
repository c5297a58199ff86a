import type { Model } from "../../../domain/models/model.js";
import { CostLimit } from "../../../models/middleware/limit-cost.js";

/** What the calls of a command cost within its limit, and how many replies the cache gave for nothing. */
export class ModelSpending {
  cachedReplies = 0;
  readonly limit: CostLimit;

  /** @param maxCostUsd undefined: no limit */
  constructor(maxCostUsd: number | undefined) {
    this.limit = new CostLimit(maxCostUsd ?? null);
  }

  /** The same model, which has a cache; its replies from there are counted. */
  countCached(model: Model): Model {
    return {
      id: model.id,
      complete: async (request, signal) => {
        const completion = await model.complete(request, signal);
        if (completion.cached) this.cachedReplies++;
        return completion;
      },
    };
  }
}
