import { z } from "zod";
import type { Flags } from "../cli/command.js";
import { day, text } from "../cli/read-flags.js";
import { CONFIG_FLAGS } from "../flags/config-flag.js";
import { RUN_FLAGS, runSchema } from "../run/run-flags.js";

/** Flags with the meaning they have for `run`. */
const AS_IN_RUN = [
  "agent",
  "model-provider",
  "model-id",
  "base-url",
  "wire-api",
  "max-turns",
  "max-tokens",
  "reasoning-tokens",
  "temperature",
  "price",
  "task-timeout",
  "request-timeout",
] as const;

export const ASK_FLAGS: Flags = {
  ...Object.fromEntries(AS_IN_RUN.map((name) => [name, RUN_FLAGS[name] ?? {}])),
  agent: {
    alias: "a",
    type: "string",
    requiresArg: true,
    describe: "Who is asked [default: email-search with the model that there is a key for, else baseline]",
  },
  before: {
    type: "string",
    requiresArg: true,
    describe: "Ask as on the day before this one: mail from it on is invisible, YYYY-MM-DD",
  },
  ...CONFIG_FLAGS,
};

export const askSchema = runSchema.extend({
  inbox_address: text,
  question: z
    .array(z.coerce.string())
    .transform((words) => words.join(" ").trim())
    .pipe(z.string().min(1, "expected a question")),
  before: day.optional(),
});
