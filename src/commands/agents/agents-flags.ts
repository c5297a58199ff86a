import { z } from "zod";
import type { Db } from "../../store/connection/open-store.js";
import type { CommandContext } from "../cli/command.js";
import { jsonObject, oneOf, text, whole, within } from "../cli/read-flags.js";
import { overwriteShape } from "../flags/overwrite-flag.js";

export const ACTIONS = [
  "list",
  "show",
  "versions",
  "create",
  "set",
  "clone",
  "delete",
  "attach",
  "detach",
  "export",
  "import",
] as const;

/** `default` takes a setting away again. */
const orDefault = <T extends z.ZodType>(schema: T) => z.union([z.literal("default").transform(() => null), schema]);

export const agentSchema = z.object({
  action: oneOf(ACTIONS),
  id: text.optional(),
  other: text.optional(),
  run: text.optional(),
  name: text.optional(),
  description: text.optional(),
  prompt: text.optional(),
  model: orDefault(text).optional(),
  maxTurns: whole(1, 1_000).optional(),
  maxTokens: whole(1).optional(),
  reasoningTokens: orDefault(z.string().pipe(z.coerce.number()).pipe(whole(0))).optional(),
  temperature: orDefault(z.string().pipe(z.coerce.number()).pipe(within(0, 2))).optional(),
  toolCalls: oneOf(["all", "first"]).optional(),
  toolChoice: oneOf(["auto", "required"]).optional(),
  tools: z
    .string()
    .transform((list) => list.split(/[\s,]+/).filter((id) => id !== ""))
    .optional(),
  config: jsonObject.optional(),
  output: text.optional(),
  ...overwriteShape,
  replace: z.boolean().default(false),
});

export type AgentFlags = z.output<typeof agentSchema>;

export type AgentAction = (db: Db, flags: AgentFlags, door: CommandContext) => void | Promise<void>;
