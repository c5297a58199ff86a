// Flags that several eval commands share.
import { criterionNameSchema, OVERALL } from "../../evals/criteria.js";
import { wholeNumber } from "../../platform/flag-values.js";

export const criterionShape = {
  criterion: criterionNameSchema
    .default(OVERALL)
    .meta({ placeholder: "NAME", description: "Criterion (failure mode) of the labels [default: overall]" }),
};

export const seedShape = {
  seed: wholeNumber(0, 2 ** 31)
    .default(1)
    .meta({ description: "Random seed" }),
};
