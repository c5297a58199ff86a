// The types of a program's own function that answers questions through the library.
import type { JsonSchema, JsonValue } from "../platform/json-value.js";

/** A question for an agent function, with the tools of the question's mailbox. */
export interface AgentFunctionTask {
  /** Id of the question in its dataset. */
  readonly id: number | string;
  /** Number of this repeat of the question, from 1. */
  readonly epoch: number;
  readonly question: string;
  /** Address of the mailbox that the question is about. */
  readonly inbox: string;
  /** Date of the question, as YYYY-MM-DD. Later mail is invisible. */
  readonly queryDate: string;
  /** Maximum number of model calls that the run allows. The function itself must keep to it. */
  readonly maxTurns: number;
  /** The tools that `callTool` can call, to be offered to a model. */
  readonly tools: readonly AgentFunctionTool[];
  /** Aborts when the task's time is over or the run is stopped. */
  readonly signal: AbortSignal;
  /**
   * Calls a tool and returns its result. The call becomes part of the trace. Rejects with an Error whose message is
   * meant for the model if the tool refuses the arguments.
   */
  callTool(name: string, args: JsonValue): Promise<JsonValue>;
}

export interface AgentFunctionTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonSchema;
}

/** An answer with the emails it is based on and what it consumed. */
export interface AgentFunctionAnswer {
  /** Null if the agent has no answer. */
  readonly answer: string | null;
  /** Message-IDs. */
  readonly sources?: readonly string[];
  /** Tokens of the function's model calls, if `turns` does not contain them. Unknown if absent. */
  readonly usage?: AgentFunctionUsage;
  /** US dollars, if `turns` does not contain them. Unknown if absent, unless the run has a price. */
  readonly costUsd?: number;
  /** The model calls, in order. If absent, the trace has one turn for the whole work of the function. */
  readonly turns?: readonly AgentFunctionTurn[];
}

/** One model call of an agent function: what the model replied, and what that cost. */
export interface AgentFunctionTurn {
  /** Text of the reply. */
  readonly content?: string | undefined;
  readonly reasoning?: string | undefined;
  /** The tools that the reply called. Calls made with `callTool` get their results from the trace. */
  readonly toolCalls?: readonly AgentFunctionToolCall[] | undefined;
  /** The answering model. */
  readonly model?: string | undefined;
  readonly usage?: AgentFunctionUsage | undefined;
  /** US dollars. */
  readonly costUsd?: number | undefined;
  /** Milliseconds. */
  readonly latencyMs?: number | undefined;
}

export interface AgentFunctionToolCall {
  readonly name: string;
  readonly arguments?: JsonValue | undefined;
  /** Result of a tool that was not called with `callTool`. */
  readonly result?: JsonValue | undefined;
  /** Error of a tool that was not called with `callTool`. */
  readonly error?: string | undefined;
}

/** Numbers of tokens. `inputTokens` includes cached ones, and `outputTokens` includes reasoning. */
export interface AgentFunctionUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

/** Answers one question. An error that it throws ends the task as `model_error`. */
export type AgentFunction = (task: AgentFunctionTask) => Promise<string | AgentFunctionAnswer>;
