// Converts the steps of the agent loop and the deltas of a model into the events of a chat.
import { randomUUID } from "node:crypto";
import type { Agent } from "../../agents/agent.js";
import type { AgentStep, AgentTask } from "../../agents/agent-backend.js";
import type { ReplyDelta, TaskActivity, ToolCall } from "../../models/model.js";
import { resultValue } from "../../tools/tool.js";
import type { ChatEvent } from "../chat-event.js";
import { AnswerArgument } from "./answer-argument.js";

/** Receives the events of an answer in order. The agent waits for the events of complete replies and results. */
export type OnChatEvent = (event: ChatEvent) => Promise<void> | void;

/** A tool call after its `tool-call` event. */
interface StartedCall {
  /** The id in the events. */
  readonly id: string;
  readonly name: string;
  /** The answer in the arguments of return_final_answer. */
  readonly answer: AnswerArgument | null;
  /** The part of the answer that was sent. */
  sentAnswer: string;
}

type TextEvent = Extract<ChatEvent, { type: "text-delta" | "text-replaced" }>;

/** Returns the callbacks of the agent loop that stream an answer as events. */
export function streamEvents(
  { settings }: Pick<Agent, "settings">,
  onEvent: OnChatEvent,
): Pick<AgentTask, "onDelta" | "onStep" | "onActivity"> {
  const events = new ChatEvents(settings.toolCalls === "first");
  return {
    onDelta(delta) {
      for (const event of events.ofDelta(delta)) void onEvent(event);
    },
    async onStep(step) {
      for (const event of events.ofStep(step)) await onEvent(event);
    },
    onActivity(activity) {
      for (const event of activityEvents(activity)) void onEvent(event);
    },
  };
}

/**
 * Converts the parts of replies, and the steps of the agent loop, to events. A step only adds the missing events, so a
 * reply that was not streamed results in the same events with its text in one piece.
 */
class ChatEvents {
  /** Text of the current reply that was sent. */
  private sentText = "";
  /** Calls of the current reply per number. */
  private started = new Map<number, StartedCall>();
  /** Calls of complete replies per id in the transcript. */
  private readonly calls = new Map<string, StartedCall>();
  private readonly usedIds = new Set<string>();

  /** @param isFirstOnly whether only the first call of a reply is made */
  constructor(private readonly isFirstOnly: boolean) {}

  ofDelta(delta: ReplyDelta): ChatEvent[] {
    switch (delta.type) {
      case "text":
        this.sentText += delta.text;
        return [{ type: "text-delta", text: delta.text }];
      case "reasoning":
        return [{ type: "reasoning-delta", text: delta.text }];
      case "tool_call":
        if (this.isFirstOnly && delta.index > 0) return [];
        return this.start(delta.index, delta);
      case "tool_arguments": {
        const call = this.started.get(delta.index);
        const text = call?.answer?.add(delta.text) ?? "";
        if (call === undefined || text === "") return [];
        call.sentAnswer += text;
        return [{ type: "text-delta", text, toolCallId: call.id }];
      }
    }
  }

  ofStep(step: AgentStep): ChatEvent[] {
    switch (step.type) {
      case "reply": {
        const { content, finishReason } = step.reply;
        // Text of a rejected reply is not part of the answer that follows it.
        const missing = missingText(this.sentText, step.isRejected ? "" : content);
        const events = [
          ...(finishReason === "refusal" ? missing.map((event) => ({ ...event, isRefusal: true as const })) : missing),
          ...step.calls.flatMap((call, i) => this.callEvents(call, i)),
        ];
        this.sentText = "";
        this.started = new Map();
        return events;
      }
      case "result": {
        const { result, call } = step;
        const started = this.calls.get(call.id);
        const toolCallId = started?.id ?? call.id;
        const value = result.ok ? resultValue(result) : { error: result.error };
        const event: ChatEvent = { type: "tool-result", toolCallId, result: value };
        // The answer belongs to the same reply as its call, so it is sent before the result. Without a final result,
        // the streamed text was not an answer.
        const answer = result.ok ? (result.final?.answer.trim() ?? "") : "";
        return [...missingText(started?.sentAnswer ?? "", answer, toolCallId), event];
      }
    }
  }

  private callEvents(call: ToolCall, index: number): ChatEvent[] {
    const started = this.started.get(index)?.name === call.name ? [] : this.start(index, call);
    const streamedCall = this.started.get(index);
    if (streamedCall !== undefined) this.calls.set(call.id, streamedCall);
    const toolCallId = streamedCall?.id ?? call.id;
    return [
      ...started,
      { type: "tool-call-args", toolCallId, args: call.invalid ?? JSON.stringify(call.arguments) },
      { type: "tool-call-end", toolCallId },
    ];
  }

  private start(index: number, call: { readonly id: string; readonly name: string }): ChatEvent[] {
    // The transcript gives a repeated id another value, which is known only when the reply is complete.
    const id = call.id === "" || this.usedIds.has(call.id) ? `call_${randomUUID()}` : call.id;
    this.usedIds.add(id);
    const answer = call.name === "return_final_answer" ? new AnswerArgument() : null;
    this.started.set(index, { id, name: call.name, answer, sentAnswer: "" });
    return [{ type: "tool-call", toolCallId: id, toolName: call.name }];
  }
}

/** Returns the events that complete `whole` after `streamedText`. White space at its ends does not matter. */
function missingText(streamedText: string, whole: string, toolCallId?: string): TextEvent[] {
  const of = toolCallId === undefined ? {} : { toolCallId };
  if (whole === streamedText || (streamedText !== "" && whole.trim() === streamedText.trim())) return [];
  if (whole.startsWith(streamedText)) return [{ type: "text-delta", text: whole.slice(streamedText.length), ...of }];
  return [{ type: "text-replaced", text: whole, ...of }];
}

/** The event of a model call that failed and is retried. */
function activityEvents(activity: TaskActivity): ChatEvent[] {
  if (activity.type !== "retry") return [];
  const { attempt, reason, waitedMs } = activity.retry;
  return [{ type: "retry", attempt, reason, waitMs: waitedMs }];
}
