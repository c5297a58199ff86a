// Flags that several eval commands share.
import { z } from "zod";
import { criterionNameSchema, OVERALL } from "../../evals/criteria.js";
import { text, wholeNumber, withTraits } from "../../platform/flag-values.js";

/** The failure mode of labels. */
export const modeShape = {
  mode: criterionNameSchema
    .default(OVERALL)
    .meta({ placeholder: "NAME", description: "Failure mode of the labels [default: overall]" }),
};

export const evalNames = withTraits(z.array(text), { completes: "evals" }).default([]);

/** Selects one failure mode. Otherwise, the command is about all of them. */
export const oneModeShape = {
  mode: criterionNameSchema
    .optional()
    .meta({ placeholder: "NAME", description: "Only this failure mode [default: all modes]" }),
};

export const seedShape = {
  seed: wholeNumber(0, 2 ** 31)
    .default(1)
    .meta({ description: "Random seed" }),
};
