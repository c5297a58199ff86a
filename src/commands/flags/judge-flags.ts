import { z } from "zod";
import type { Flags } from "../cli/command.js";
import { text, wholeNumber } from "../cli/read-flags.js";

export const JUDGE_FLAGS: Flags = {
  judge: {
    type: "string",
    requiresArg: true,
    describe:
      "Model that judges the answers: provider/model, art or art:provider/model (the published protocol), or off [default: the agent's provider's cheap model, where there is a key]",
  },
  "no-judge": { type: "boolean", describe: "The same as --judge off" },
  "judge-votes": {
    type: "number",
    requiresArg: true,
    describe: "Ask the judge so many times; most votes win [default: 1]",
  },
  "judge-base-url": { type: "string", requiresArg: true, describe: "Address of a compatible server for the judge" },
};

export const judgeShape = {
  judge: text.optional(),
  noJudge: z.boolean().default(false),
  judgeVotes: wholeNumber(1, 25).optional(),
  judgeBaseUrl: text.optional(),
};
