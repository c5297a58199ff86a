import type { Completion, ModelRequest, ToolSpec } from "../domain/models/model.js";

export interface ForcedToolCall {
  readonly system: string;
  readonly content: string;
  readonly tool: ToolSpec;
  readonly maxTokens: number;
  /** Undefined: the provider's default. */
  readonly temperature?: number;
}

/** A request of one message, to be answered by a call of `tool`. */
export function forcedToolCall({ system, content, tool, ...limits }: ForcedToolCall): ModelRequest {
  return { system, messages: [{ role: "user", content }], tools: [tool], toolChoice: "required", ...limits };
}

/** The arguments of each valid call of `tool`. What several mean is for the caller to say. */
export function argumentsOf({ toolCalls }: Pick<Completion, "toolCalls">, tool: string): unknown[] {
  return toolCalls.filter(({ name, invalid }) => name === tool && invalid === undefined).map((call) => call.arguments);
}
