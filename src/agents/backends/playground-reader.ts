import { z } from "zod";
import { endingOfAnswer, type Rollout, type Transcript } from "../../domain/agents/agent-backend.js";
import type { JsonValue } from "../../domain/json.js";
import type { ToolCall } from "../../domain/models/conversation.js";
import { redact, redactJson } from "../../domain/redact.js";
import { ENDINGS, type Ending, isFailure } from "../../domain/tasks/task-ending.js";
import { readArguments } from "../../models/providers/tool-calls.js";
import { failureOf, type PlaygroundEvent, resultValue } from "./playground-protocol.js";

interface OpenCall {
  readonly id: string;
  readonly name: string;
  args: JsonValue;
  readonly startedAt: string;
  readonly began: number;
}

const answerSchema = z.object({ answer: z.string(), sources: z.array(z.string()).default([]) });

const failedSchema = z.object({ error: z.string() });

/**
 * Builds a transcript from the events of one answer. A turn is the text and calls between two results. Tokens are not
 * sent and stay unknown. The answer is the argument of return_final_answer, or else the text after the last result.
 */
export class PlaygroundReader {
  #text = "";
  #calls: OpenCall[] = [];
  /** Calls of finished turns still without a result. */
  readonly #open = new Map<string, OpenCall>();
  #turnStartedAt = new Date().toISOString();
  #turnBegan = performance.now();
  #lastWord = this.#turnBegan;
  #answer: { answer: string; sources: string[] } | null = null;
  #remote: { sessionId: string | null; traceId: string | null } | undefined;
  #ending: Ending | null = null;
  #lastText = "";

  /** `secrets` are redacted from everything recorded: from whole texts, since chunks may each hold part of a key. */
  constructor(
    private readonly transcript: Transcript,
    private readonly secrets: readonly string[],
  ) {}

  /** Throws the ModelError of an error event. */
  take(event: PlaygroundEvent): void {
    switch (event.type) {
      case "message-start":
        this.endTurn();
        return;
      case "text-delta":
        this.#text += event.text;
        this.#lastWord = performance.now();
        return;
      case "tool-call":
        this.#calls.push({
          id: event.toolCallId,
          name: event.toolName,
          args: "",
          startedAt: new Date().toISOString(),
          began: performance.now(),
        });
        this.#lastWord = performance.now();
        return;
      case "tool-call-args": {
        const call = this.#calls.find(({ id }) => id === event.toolCallId);
        if (call === undefined) return;
        call.args =
          typeof event.args === "string" && typeof call.args === "string" ? call.args + event.args : event.args;
        return;
      }
      case "tool-result":
        this.endTurn();
        this.#result(event.toolCallId, resultValue(event.result));
        return;
      case "error":
        if (isAgentsOwn(event.errorCategory)) this.#ending = event.errorCategory;
        else throw failureOf(event);
        return;
      case "recoverable-error":
        throw failureOf(event);
      case "session-info":
        this.#remote = { sessionId: event.sessionId ?? null, traceId: event.traceId ?? null };
        return;
      default:
        return;
    }
  }

  /** Records text and calls since the last result as a turn. */
  endTurn(): void {
    if (this.#text === "" && this.#calls.length === 0) return;
    const text = redact(this.#text, this.secrets);
    const toolCalls = this.#calls.map((call) => this.#toToolCall(call));
    this.transcript.messages.push({ role: "assistant", content: text, toolCalls });
    this.transcript.turns.push({
      startedAt: this.#turnStartedAt,
      latencyMs: this.#lastWord - this.#turnBegan,
      finishReason: toolCalls.length > 0 ? "tool_calls" : "stop",
      rawFinishReason: "",
      usage: null,
      costUsd: null,
      retries: [],
      cached: false,
    });
    for (const call of this.#calls) this.#open.set(call.id, call);
    this.#lastText = toolCalls.length > 0 ? "" : text;
    this.#text = "";
    this.#calls = [];
  }

  /** After `[DONE]`. */
  end(): Rollout {
    this.endTurn();
    for (const id of [...this.#open.keys()]) this.#result(id, undefined);
    const transcript = { ...this.transcript, ...(this.#remote === undefined ? {} : { remote: this.#remote }) };
    if (this.#answer !== null) {
      const { answer, sources } = this.#answer;
      return { ...transcript, ending: endingOfAnswer(answer, sources), answer: answer.trim(), sources };
    }
    const text = this.#lastText.trim();
    // An agent that ends without an answer has used its turns: not a failure.
    const ending = this.#ending ?? (text === "" ? "out_of_turns" : endingOfAnswer(text, []));
    return {
      ...transcript,
      ending,
      answer: ending === "answered" || ending === "dont_know" ? text : null,
      sources: [],
    };
  }

  /** Undefined: the server sent none. The call that gives the answer needs none. */
  #result(id: string, told: JsonValue | undefined): void {
    const call = this.#open.get(id);
    if (call === undefined) return;
    this.#open.delete(id);
    const result = (told === undefined ? undefined : redactJson(told, this.secrets)) ?? {
      error: "The server told no result.",
    };
    const failed = failedSchema.safeParse(result);
    const { arguments: args } = this.#toToolCall(call);
    this.transcript.messages.push({
      role: "tool",
      toolCallId: id,
      name: call.name,
      content: failed.success ? failed.data.error : typeof result === "string" ? result : JSON.stringify(result),
      isError: failed.success,
    });
    this.transcript.toolCalls.push({
      id,
      name: call.name,
      arguments: args,
      result: failed.success ? null : result,
      error: failed.success ? failed.data.error : null,
      errorKind: failed.success ? "failed" : null,
      turn: this.transcript.turns.length - 1,
      startedAt: call.startedAt,
      durationMs: performance.now() - call.began,
    });
    const answer = call.name === "return_final_answer" ? answerSchema.safeParse(args) : null;
    if (answer?.success && (told === undefined || !failed.success)) this.#answer = answer.data;
    this.#turnStartedAt = new Date().toISOString();
    this.#turnBegan = performance.now();
    this.#lastWord = this.#turnBegan;
    this.#lastText = "";
  }

  #toToolCall({ id, name, args }: OpenCall): ToolCall {
    return { id, name, ...readArguments(redactJson(args, this.secrets)) };
  }
}

/** Endings caused by the agent, not by a failure; a server may send them as the category of its error. */
function isAgentsOwn(category: string | null | undefined): category is Ending {
  return ENDINGS.some((ending) => ending === category && !isFailure(ending));
}
