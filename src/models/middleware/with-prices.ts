import type { Model, PriceOf } from "../../domain/models/model.js";

/** The same model, with the cost in its replies. A reply that has a cost already, such as a recorded one, keeps it. */
export function withPrices(model: Model, priceOf: PriceOf): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      const completion = await model.complete(request, signal);
      const { usage, costUsd = usage === null ? null : priceOf(usage, completion.model) } = completion;
      return { ...completion, costUsd };
    },
  };
}
