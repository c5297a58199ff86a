import { criterionNameSchema, OVERALL } from "../../domain/evals/label.js";
import type { Flags } from "../cli/command.js";
import { wholeNumber } from "../cli/read-flags.js";

/** A version of an eval. */
export const EVAL_NAME = { type: "string", describe: "Its name; NAME@2 names a version" } as const;

export const CRITERION_FLAGS: Flags = {
  criterion: {
    type: "string",
    requiresArg: true,
    describe: "The failure mode that the labels are about [default: overall]",
  },
};

export const criterionShape = { criterion: criterionNameSchema.default(OVERALL) };

export const SEED_FLAGS: Flags = {
  seed: { type: "number", requiresArg: true, describe: "Of everything that is drawn [default: 1]" },
};

export const seedShape = { seed: wholeNumber(0, 2 ** 31).default(1) };
