import { UserError } from "../../../domain/errors.js";
import type { Model } from "../../../domain/models/model.js";
import { isPriced, priceOf } from "../../../models/catalog/prices.js";

/** No further call may be made. */
export class SpendingLimitReached extends Error {
  override readonly name = "SpendingLimitReached";
}

/** What the calls of a command have cost, against its limit. Replies of the cache cost nothing again. */
export class Spending {
  costUsd = 0;
  calls = 0;
  cached = 0;

  /** @param limitUsd null: no limit */
  constructor(private readonly limitUsd: number | null) {}

  add(costUsd: number | null): void {
    this.costUsd += costUsd ?? 0;
  }

  /** Throws where the limit is reached: overspent is at most what is under way. */
  check(): void {
    if (this.limitUsd !== null && this.costUsd >= this.limitUsd) {
      throw new SpendingLimitReached(`--max-cost ${this.limitUsd} is reached`);
    }
  }

  /** The same model; each of its calls is counted, and refused once the limit is reached. */
  metered(model: Model): Model {
    return {
      id: model.id,
      complete: async (request, signal) => {
        this.check();
        const completion = await model.complete(request, signal);
        if (completion.cached) this.cached++;
        else {
          this.calls++;
          this.add(completion.costUsd ?? null);
        }
        return completion;
      },
    };
  }
}

/** Refuses a limit in dollars where the price of a model is not known. */
export function requirePrice(limitUsd: number | null, model: string): void {
  if (limitUsd === null || isPriced((usage) => priceOf(model, usage))) return;
  throw new UserError(
    "price_unknown",
    `--max-cost cannot be kept: the price of ${model} is not known.`,
    "Leave --max-cost out, or take a model whose price is known.",
  );
}
