import { z } from "zod";

/** Settings of an agent; stored as JSON in its row. */
export const agentSettingsSchema = z.strictObject({
  /** Model calls before the task ends as out_of_turns. */
  maxTurns: z.number().int().min(1).max(1000).default(10),
  /** Tokens of one reply, its reasoning not counted. */
  maxTokens: z.number().int().min(1).default(2048),
  /** Tokens for reasoning beside them; left out: by what the model is. */
  reasoningTokens: z.number().int().min(0).optional(),
  /** `first`: only the first tool call of a reply is made (ART); `all`: every one. */
  toolCalls: z.enum(["all", "first"]).default("all"),
  /** `required`: the model must call a tool in every turn (ART). */
  toolChoice: z.enum(["auto", "required"]).default("auto"),
  temperature: z.number().min(0).max(2).optional(),
});

export type AgentSettings = z.output<typeof agentSettingsSchema>;

/** A row of the `agents` table. */
export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** With `{{name}}` for the variables of a task to be filled in. */
  readonly prompt: string;
  /** `provider/name`; null takes the run's model. */
  readonly model: string | null;
  readonly settings: AgentSettings;
}

/** An agent as stored in the registry. */
export interface StoredAgent extends Agent {
  /** Built in: can be cloned, not changed. */
  readonly builtin: boolean;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}
