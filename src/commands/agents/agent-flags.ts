import { z } from "zod";
import type { Flags } from "../cli/command.js";
import { numberBetween, oneOf, text, wholeNumber } from "../cli/read-flags.js";
import { readText } from "../cli/read-text.js";

/** `default` removes a setting, so that its default holds again. */
const orDefault = <T extends z.ZodType>(schema: T) => z.union([z.literal("default").transform(() => null), schema]);

/** What can be set of an agent, when it is created and later. */
export const agentShape = {
  id: text,
  name: text.optional(),
  description: text.optional(),
  prompt: text.optional(),
  model: orDefault(text).optional(),
  maxTurns: wholeNumber(1, 1_000).optional(),
  maxTokens: wholeNumber(1).optional(),
  reasoningTokens: orDefault(z.string().pipe(z.coerce.number()).pipe(wholeNumber(0))).optional(),
  temperature: orDefault(z.string().pipe(z.coerce.number()).pipe(numberBetween(0, 2))).optional(),
  toolCalls: oneOf(["all", "first"]).optional(),
  toolChoice: oneOf(["auto", "required"]).optional(),
};

const agentSchema = z.object(agentShape);

export type AgentFlags = z.output<typeof agentSchema>;

export const AGENT_ID = { type: "string", describe: "The agent's id" } as const;

export const AGENT_FLAGS: Flags = {
  name: { type: "string", requiresArg: true, describe: "Its name [default: its id]" },
  description: { type: "string", requiresArg: true, describe: "What it is for" },
  prompt: {
    type: "string",
    requiresArg: true,
    describe:
      "The prompt, or @FILE; may use {{inbox_address}}, {{query_date}}, {{snapshot}}, {{home}}, {{max_turns}}, {{tools}}",
  },
  model: {
    type: "string",
    requiresArg: true,
    describe: "provider/name, or default: the run's [default: the run's]",
  },
  "max-turns": { type: "number", requiresArg: true, describe: "Model calls per task [default: 10]" },
  "max-tokens": { type: "number", requiresArg: true, describe: "Tokens per reply [default: 2048]" },
  "reasoning-tokens": {
    type: "string",
    requiresArg: true,
    describe: "Tokens for reasoning in addition, or default: by the model [default: by the model]",
  },
  temperature: {
    type: "string",
    requiresArg: true,
    describe: "0-2, or default: the provider's [default: the provider's]",
  },
  "tool-calls": {
    type: "string",
    requiresArg: true,
    describe: "all: make all calls of a reply; first: only the first [default: all]",
  },
  "tool-choice": {
    type: "string",
    requiresArg: true,
    describe: "auto, or required: a tool call in every turn [default: auto]",
  },
};

/** The columns that the flags set; those of absent flags are left out. */
export function agentColumns({ name, description, prompt, model }: AgentFlags) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(prompt === undefined ? {} : { prompt: promptText(prompt) }),
    ...(model === undefined ? {} : { model }),
  };
}

/** The settings that the flags set; null restores the default. */
export function agentSettings({
  maxTurns,
  maxTokens,
  reasoningTokens,
  temperature,
  toolCalls,
  toolChoice,
}: AgentFlags) {
  return {
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
  };
}

/** The prompt itself, or that of `@FILE`. */
export function promptText(prompt: string): string {
  return prompt.startsWith("@") ? readText(prompt.slice(1), "--prompt").trimEnd() : prompt;
}
