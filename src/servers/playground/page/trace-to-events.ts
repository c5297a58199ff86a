import type { ChatTraceJson, RetryJson, TraceDetailsJson, TracePageJson } from "./api-types.js";
import type { ChatEvent } from "./chat/chat-events.js";
import { get } from "./request.js";
import { endingText } from "./task-ending-text.js";

/** Chats of a session that are shown again after a reload. */
const MAX_CHATS = 50;

/** The traces of a session's chats, oldest first; empty where the session no longer exists. */
export async function loadSessionTraces(sessionId: string): Promise<ChatTraceJson[]> {
  const { traces } = await get<TracePageJson>(
    `/api/traces?session_id=${encodeURIComponent(sessionId)}&limit=${MAX_CHATS}`,
  );
  const details = await Promise.all(
    traces.map(({ id }) => get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`)),
  );
  return details.map(({ trace }) => trace as ChatTraceJson).reverse();
}

/** The events that the server sent while the chat of this trace went on. */
export function* traceToEvents(trace: ChatTraceJson): Generator<ChatEvent> {
  const callsMade = new Map(trace.toolCalls.map((call) => [call.id, call]));
  let turn = 0;
  // The system prompt, the messages of earlier chats and the question come first.
  for (const message of trace.messages.slice(2 + trace.historyLength)) {
    if (message.role === "assistant") {
      yield* retryEvents(trace.turns[turn++]?.retries);
      if (message.content !== "") yield { type: "text-delta", text: message.content };
      for (const { id, name, arguments: args } of message.toolCalls ?? []) {
        if (!callsMade.has(id)) continue;
        yield { type: "tool-call", toolCallId: id, toolName: name };
        yield { type: "tool-call-args", toolCallId: id, args: JSON.stringify(args) };
      }
    }
    const call = message.role === "tool" ? callsMade.get(message.toolCallId ?? "") : undefined;
    if (call === undefined) continue;
    const isAnswer = call.name === "return_final_answer" && call.error === null;
    if (isAnswer) yield { type: "text-delta", text: trace.answer ?? "" };
    const result = call.error === null ? call.result : { error: call.error };
    yield { type: "tool-result", toolCallId: call.id, result };
  }
  // Calls of which none was answered are a turn without a message.
  yield* retryEvents(trace.turns[turn]?.retries);
  if (trace.answer === null) {
    const errorText = trace.error || `No answer: ${endingText(trace.ending)}.`;
    yield { type: "error", errorText, errorCategory: trace.ending, retryable: false };
  }
  yield { type: "session-info", sessionId: trace.sessionId, traceId: trace.traceId };
}

function* retryEvents(retries: readonly RetryJson[] = []): Generator<ChatEvent> {
  for (const { attempt, reason, waitedMs } of retries) yield { type: "retry", attempt, reason, waitMs: waitedMs };
}
