import type { Flags } from "../cli/command.js";
import { numberAbove, text } from "../cli/read-flags.js";

/** The model that checks questions, and what its calls may cost. */
export const CHECKER_FLAGS: Flags = {
  "checker-base-url": { type: "string", requiresArg: true, describe: "Address of a compatible server for the checker" },
  "max-cost": { type: "number", requiresArg: true, describe: "US dollars all calls may cost" },
};

export const checkerShape = {
  checker: text.optional(),
  checkerBaseUrl: text.optional(),
  maxCost: numberAbove(0, 1_000_000).optional(),
};
