// An external agent on a server with the playground API, whose event stream becomes messages and tool calls.
import { z } from "zod";
import { postForEvents } from "../../models/agent-requests.js";
import { MODEL_ERROR_KINDS, ModelError, type ModelErrorKind, type ToolCall } from "../../models/model.js";
import { toModelError } from "../../models/provider-errors.js";
import { readArguments } from "../../models/tool-calls.js";
import { separateReasoning } from "../../models/unparsed-text.js";
import { type JsonValue, jsonValueSchema, parseJsonOrNull } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { redact, redactJson } from "../../platform/secrets.js";
import { ENDINGS, type Ending, isFailure } from "../../tasks/ending.js";
import type { ToolCallRecord } from "../../traces/trace.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import { answerSchema } from "../rollout/answer-text.js";
import { endingOfAnswer, type Rollout, type Transcript } from "../rollout.js";
import { resultMessage } from "./reported-turns.js";

export interface PlaygroundApiAgent {
  /** Base URL without `/api` or a trailing slash. */
  readonly apiUrl: string;
  readonly workspace: string | null;
  readonly agentId: string;
  /** Model that overrides the agent's own, or null to keep it. */
  readonly model: { readonly provider: string; readonly id: string } | null;
  /** Also adds the mailbox and day to the question, for prompts without `{{inbox_address}}` and `{{query_date}}`. */
  readonly tellTask: boolean;
  /** Bearer token, or an empty string if none is required. */
  readonly token: string;
  readonly idleMs: number;
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  args: JsonValue;
  readonly startedAt: string;
  readonly began: number;
}

type ErrorEvent = Extract<PlaygroundEvent, { type: "error" | "recoverable-error" }>;

const id = z.string();

/** Events of a playground server. Each is the `data` of one server-sent event, and `[DONE]` follows the last one. */
const KNOWN = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message-start"), messageId: id.optional() }),
  z.object({ type: z.literal("text-delta"), text: z.string() }),
  /** Replaces the text of the turn, or the answer in a call if it has a `toolCallId`. */
  z.object({ type: z.literal("text-replaced"), text: z.string(), toolCallId: id.optional() }),
  z.object({ type: z.literal("tool-call"), toolCallId: id, toolName: z.string() }),
  /** The arguments, or their JSON text in one or more parts. */
  z.object({ type: z.literal("tool-call-args"), toolCallId: id, args: jsonValueSchema }),
  z.object({ type: z.literal("tool-call-end"), toolCallId: id }),
  z.object({ type: z.literal("tool-result"), toolCallId: id, result: jsonValueSchema.optional() }),
  z.object({ type: z.literal("finish"), messageId: id.optional() }),
  z.object({
    type: z.literal("error"),
    errorText: z.string(),
    errorCategory: z.string().nullish(),
    retryable: z.boolean().nullish(),
  }),
  z.object({
    type: z.literal("recoverable-error"),
    error: z.string(),
    errorCode: z.string().nullish(),
    recoverable: z.boolean().nullish(),
  }),
  z.object({ type: z.literal("session-info"), sessionId: id.nullish(), traceId: id.nullish() }),
]);

type PlaygroundEvent = z.output<typeof KNOWN>;

/**
 * Sends `POST /api/agents/:id/playground/chat` with one conversation and one message per question. The mailbox, day and
 * turn limit are sent as `variables`. An error, a recoverable error, or a stream without `[DONE]` is a failure.
 */
export function playgroundApiAgent(agent: PlaygroundApiAgent): AgentBackend {
  const url = `${agent.apiUrl}/api/agents/${encodeURIComponent(agent.agentId)}/playground/chat`;
  const headers: Record<string, string> = {
    ...presentProperties({ "x-workspace-id": agent.workspace }),
    ...(agent.token === "" ? {} : { authorization: `Bearer ${agent.token}` }),
  };
  return {
    async answer(task, transcript) {
      const content = questionText(task, agent.tellTask);
      transcript.messages.push({ role: "user", content });
      const reader = new PlaygroundReader(transcript, [agent.token]);
      const streamRequest = {
        url,
        headers,
        body: toBody(agent, task, content),
        idleMs: agent.idleMs,
        apiKey: agent.token,
      };
      try {
        for await (const data of postForEvents(streamRequest, task.context.signal)) {
          if (data.trim() === "[DONE]") return reader.end();
          const event = readEvent(data);
          if (event !== null) reader.take(event);
        }
        throw new ModelError("protocol", "the stream ended without [DONE]", { retryable: true });
      } catch (error) {
        reader.endTurn();
        if (task.context.signal.aborted) throw task.context.signal.reason;
        throw toModelError(error, [agent.token]);
      }
    },
  };
}

function toBody({ model }: PlaygroundApiAgent, { variables, maxTurns }: AgentTask, content: string) {
  return {
    messages: [{ role: "user", content }],
    variables: { ...variables, max_turns: String(maxTurns) },
    ...(model === null ? {} : { modelProvider: model.provider, modelId: model.id }),
  };
}

function questionText(task: AgentTask, tellTask: boolean): string {
  if (!tellTask) return task.instruction;
  const { inbox_address, query_date } = mailboxOf(task);
  return `The mailbox is ${inbox_address}. Today is ${query_date}.\n\n${task.instruction}`;
}

const failedSchema = z.object({ error: z.string() });

/**
 * Builds a transcript from the events of one answer. A turn is the text and calls between two results. The server does
 * not send token counts, so they remain unknown. The answer is the argument of return_final_answer, otherwise the text
 * after the last result.
 */
class PlaygroundReader {
  private text = "";
  private calls: OpenCall[] = [];
  /** Calls in finished turns that do not have a result yet. */
  private readonly open = new Map<string, OpenCall>();
  private turnStartedAt = new Date().toISOString();
  private turnBegan = performance.now();
  private lastWord = this.turnBegan;
  private answer: { answer: string; sources: string[] } | null = null;
  private remote: { sessionId: string | null; traceId: string | null } | undefined;
  private ending: Ending | null = null;
  private lastText = "";

  /**
   * `secrets` are redacted from everything recorded. This happens in complete texts, because a key can be split across
   * chunks.
   */
  constructor(
    private readonly transcript: Transcript,
    private readonly secrets: readonly string[],
  ) {}

  /** Processes an event. Throws a ModelError if the event reports a failure. */
  take(event: PlaygroundEvent): void {
    switch (event.type) {
      case "message-start":
        this.endTurn();
        return;
      case "text-delta":
        this.text += event.text;
        this.lastWord = performance.now();
        return;
      case "text-replaced":
        this.text = event.text;
        return;
      case "tool-call":
        this.calls.push({
          id: event.toolCallId,
          name: event.toolName,
          args: "",
          startedAt: new Date().toISOString(),
          began: performance.now(),
        });
        this.lastWord = performance.now();
        return;
      case "tool-call-args": {
        const call = this.calls.find(({ id }) => id === event.toolCallId);
        if (call === undefined) return;
        call.args =
          typeof event.args === "string" && typeof call.args === "string" ? call.args + event.args : event.args;
        return;
      }
      case "tool-result":
        this.endTurn();
        this.result(event.toolCallId, resultValue(event.result));
        return;
      case "error":
        if (isAgentsOwn(event.errorCategory)) this.ending = event.errorCategory;
        else throw failureOf(event);
        return;
      case "recoverable-error":
        throw failureOf(event);
      case "session-info":
        this.remote = { sessionId: event.sessionId ?? null, traceId: event.traceId ?? null };
        return;
      default:
        return;
    }
  }

  /** Records the text and calls since the last result as a turn. */
  endTurn(): void {
    if (this.text === "" && this.calls.length === 0) return;
    const text = redact(this.text, this.secrets);
    const toolCalls = this.calls.map((call) => this.toToolCall(call));
    this.transcript.messages.push({ role: "assistant", content: text, toolCalls });
    this.transcript.turns.push({
      startedAt: this.turnStartedAt,
      latencyMs: this.lastWord - this.turnBegan,
      finishReason: toolCalls.length > 0 ? "tool_calls" : "stop",
      rawFinishReason: "",
      usage: null,
      costUsd: null,
      retries: [],
      cached: false,
    });
    for (const call of this.calls) this.open.set(call.id, call);
    this.lastText = toolCalls.length > 0 ? "" : text;
    this.text = "";
    this.calls = [];
  }

  /** Returns the rollout after `[DONE]`. */
  end(): Rollout {
    this.endTurn();
    for (const id of [...this.open.keys()]) this.result(id, undefined);
    const transcript = { ...this.transcript, ...presentProperties({ remote: this.remote }) };
    if (this.answer !== null) {
      const { answer, sources } = this.answer;
      return { ...transcript, ending: endingOfAnswer(answer, sources), answer: answer.trim(), sources };
    }
    const { text } = separateReasoning(this.lastText.trim());
    // An agent that ends without an answer counts as out of turns, which is not a failure.
    const ending = this.ending ?? (text === "" ? "out_of_turns" : endingOfAnswer(text, []));
    return {
      ...transcript,
      ending,
      answer: ending === "answered" || ending === "dont_know" ? text : null,
      sources: [],
    };
  }

  /**
   * Records a call's result. `payload` is undefined if the server did not send a result, which return_final_answer does
   * not require.
   */
  private result(id: string, payload: JsonValue | undefined): void {
    const call = this.open.get(id);
    if (call === undefined) return;
    this.open.delete(id);
    const result = (payload === undefined ? undefined : redactJson(payload, this.secrets)) ?? {
      error: "The server did not send a result.",
    };
    const failed = failedSchema.safeParse(result);
    const { arguments: args } = this.toToolCall(call);
    const record: ToolCallRecord = {
      id,
      name: call.name,
      arguments: args,
      result: failed.success ? null : result,
      error: failed.success ? failed.data.error : null,
      errorKind: failed.success ? "failed" : null,
      turn: this.transcript.turns.length - 1,
      startedAt: call.startedAt,
      durationMs: performance.now() - call.began,
    };
    this.transcript.messages.push(resultMessage(record));
    this.transcript.toolCalls.push(record);
    const answer = call.name === "return_final_answer" ? answerSchema.safeParse(args) : null;
    if (answer?.success && (payload === undefined || !failed.success)) this.answer = answer.data;
    this.turnStartedAt = new Date().toISOString();
    this.turnBegan = performance.now();
    this.lastWord = this.turnBegan;
    this.lastText = "";
  }

  private toToolCall({ id, name, args }: OpenCall): ToolCall {
    return { id, name, ...readArguments(redactJson(args, this.secrets)) };
  }
}

/** Returns whether an error category is an ending caused by the agent, not by a failure. */
function isAgentsOwn(category: string | null | undefined): category is Ending {
  return ENDINGS.some((ending) => ending === category && !isFailure(ending));
}

const TYPES: ReadonlySet<string> = new Set(KNOWN.options.map((option) => option.shape.type.value));

/**
 * Parses an event. Returns null for an unknown (newer) event type. Throws the JSON parser's or zod's error for invalid
 * data.
 */
function readEvent(data: string): PlaygroundEvent | null {
  const event = z.looseObject({ type: z.string() }).parse(JSON.parse(data));
  return TYPES.has(event.type) ? KNOWN.parse(event) : null;
}

/** Maps other servers' error names to our error kinds. */
const KINDS: readonly (readonly [RegExp, ModelErrorKind])[] = [
  [/rate|quota/i, "rate_limit"],
  [/^auth|api.?key/i, "auth"],
  [/time.?out/i, "timeout"],
  [/overload|unavailable/i, "overloaded"],
  [/network|connection/i, "network"],
];

function failureOf(event: ErrorEvent): ModelError {
  const [text, code, retryable] =
    event.type === "error"
      ? [event.errorText, event.errorCategory ?? "", event.retryable ?? false]
      : [event.error, event.errorCode ?? "", event.recoverable ?? false];
  const ours = MODEL_ERROR_KINDS.find((kind) => kind === code);
  const errorKind = ours ?? KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "server";
  const kind = errorKind === "rate_limit" && !retryable ? "unavailable" : errorKind;
  return new ModelError(kind, code === "" ? text : `${text} (${code})`, { retryable });
}

/** Returns a tool result for the scorers. Servers send it as an object or as JSON text. */
function resultValue(result: JsonValue | undefined): JsonValue {
  if (typeof result !== "string" || !/^\s*[[{]/.test(result)) return result ?? null;
  return jsonValueSchema.safeParse(parseJsonOrNull(result)).data ?? result;
}
