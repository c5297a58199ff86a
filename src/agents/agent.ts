// An agent as stored: its prompt, model and settings.
import { z } from "zod";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { TOOL_RESULTS } from "../models/tool-results.js";

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Prompt template with `{{name}}` placeholders for task variables. */
  readonly prompt: string;
  /** `provider/name`, or null for the run's model. */
  readonly model: string | null;
  readonly settings: AgentSettings;
}

export interface StoredAgent extends Agent {
  /** Built-in agents can be cloned but not changed. */
  readonly builtin: boolean;
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Agent settings, stored as JSON in the agent's row. */
export const agentSettingsSchema = z.strictObject({
  /** Maximum model calls. After that, the task ends as out_of_turns. */
  maxTurns: z.number().int().min(1).max(1000).default(10),
  /** Maximum tokens per reply, excluding reasoning. */
  maxTokens: z.number().int().min(1).default(2048),
  /** Reasoning tokens in addition to `maxTokens`. The default depends on the model. */
  reasoningTokens: z.number().int().min(0).optional(),
  /** `first` executes only the first tool call of a reply, like ART. `all` executes every call. */
  toolCalls: z.enum(["all", "first"]).default("all"),
  /** `required` forces the model to call a tool in every turn, like ART. */
  toolChoice: z.enum(["auto", "required"]).default("auto"),
  /**
   * How tool results are put to the model: unchanged, between marks as data, or with a note in each email from outside.
   */
  toolResults: z.enum(TOOL_RESULTS).default("plain"),
  temperature: z.number().min(0).max(2).optional(),
  /** The default is the model's own. */
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
});

export type AgentSettings = z.output<typeof agentSettingsSchema>;
