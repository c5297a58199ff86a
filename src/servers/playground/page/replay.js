import { ask } from "./api.js";

/** As many chats of a session are shown again. */
const MOST = 50;

/** The traces of a session's chats, oldest first; none of a session that is not there any more. */
export async function tracesOf(sessionId) {
  const { traces } = await ask(`/api/traces?session_id=${encodeURIComponent(sessionId)}&limit=${MOST}`);
  const whole = await Promise.all(traces.map(({ id }) => ask(`/api/traces/${encodeURIComponent(id)}`)));
  return whole.map(({ trace }) => trace).reverse();
}

/** The events that a chat was told by, from its trace. */
export function* eventsOf(trace) {
  const made = new Map(trace.toolCalls.map((call) => [call.id, call]));
  // The system prompt, what was said before, and the question come first.
  for (const message of trace.messages.slice(2 + trace.historyLength)) {
    if (message.role === "assistant") {
      if (message.content !== "") yield { type: "text-delta", text: message.content };
      for (const { id, name, arguments: args } of message.toolCalls.filter((call) => made.has(call.id))) {
        yield { type: "tool-call", toolCallId: id, toolName: name };
        yield { type: "tool-call-args", toolCallId: id, args: JSON.stringify(args) };
      }
    }
    const call = message.role === "tool" ? made.get(message.toolCallId) : undefined;
    if (call === undefined) continue;
    const isAnswer = call.name === "return_final_answer" && call.error === null;
    if (isAnswer) yield { type: "text-delta", text: trace.answer ?? "" };
    yield {
      type: "tool-result",
      toolCallId: call.id,
      result: call.error === null ? call.result : { error: call.error },
    };
  }
  if (trace.answer === null) {
    yield { type: "error", errorText: trace.error || `No answer: ${trace.ending.replaceAll("_", " ")}.` };
  }
  yield { type: "session-info", sessionId: trace.sessionId, traceId: trace.traceId };
}
