import { z } from "zod";
import { ANSWERING_MODELS } from "../../models/default-models.js";
import { API_KEY_VARIABLES } from "../../models/provider-names.js";
import type { CommandContext, Flags } from "../cli/command.js";
import { day, text } from "../cli/read-flags.js";
import { RUN_FLAGS, runSchema } from "../run/run-flags.js";

/** Flags that mean what they mean for a run. */
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
};

export const askSchema = runSchema.extend({
  inbox_address: text,
  question: z
    .array(z.coerce.string())
    .transform((words) => words.join(" ").trim())
    .pipe(z.string().min(1, "expected a question")),
  before: day.optional(),
});

export type AskFlags = z.output<typeof askSchema>;

const KEYED = Object.entries(ANSWERING_MODELS) as [keyof typeof ANSWERING_MODELS, string][];

/** Who is asked where that is left open: what can be asked with the keys there are. Says what it chose. */
export function chooseAgent(flags: AskFlags, { settings, out }: CommandContext): { agentId: string; chosen: AskFlags } {
  const isModelGiven = flags.modelId !== undefined || flags.modelProvider !== undefined || flags.baseUrl !== undefined;
  const agentId = flags.agent ?? "email-search";
  if (isModelGiven || flags.agent !== undefined) return { agentId, chosen: flags };
  const [, modelId] = KEYED.find(([provider]) => API_KEY_VARIABLES[provider].some((name) => settings.env[name])) ?? [];
  if (modelId !== undefined) {
    out.note(`Asking ${agentId} with ${modelId}.`);
    return { agentId, chosen: { ...flags, modelId } };
  }
  const variables = KEYED.flatMap(([provider]) => API_KEY_VARIABLES[provider]).join(", ");
  out.note(`No API key is set (${variables}): asking the offline baseline, which is no language model.`);
  return { agentId: "baseline", chosen: flags };
}
