import type { JsonValue } from "../domain/json.js";
import type { Message } from "../domain/models/conversation.js";
import type { ToolCallRecord, Turn } from "../domain/runs/trace.js";
import { ownMessages } from "../domain/runs/trace-steps.js";
import type { ExportedTrace } from "./trace-format.js";

/** One span of a trace in iofold's format. */
interface Step {
  readonly step_id: string;
  readonly trace_id: string;
  readonly timestamp: string;
  readonly messages_added: readonly { readonly role: string; readonly content: string }[];
  readonly tool_calls: readonly {
    readonly tool_name: string;
    readonly arguments: JsonValue;
    readonly result: JsonValue;
    readonly error: string | null;
  }[];
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly metadata: {
    readonly span_id: string;
    readonly parent_span_id: string | null;
    readonly span_name: string;
    readonly latency_ms: number;
    readonly tokens_input: number | null;
    readonly tokens_output: number | null;
  };
  readonly error: string | null;
}

/**
 * One line per step, that is, per model call or tool call. The tool calls of a turn follow it, with its span as parent.
 * The first model call adds the system prompt and the question. A task that failed before any reply has one step with
 * its error.
 */
export function iofoldSteps(trace: ExportedTrace): string[] {
  const byTurn = messagesByTurn(ownMessages(trace));
  const count = Math.max(trace.turns.length, byTurn.length, 1);
  const steps = Array.from({ length: count }, (_, turn) => [
    modelStep(trace, turn, byTurn[turn] ?? [], turn === count - 1),
    ...trace.toolCalls.filter((call) => call.turn === turn).map((call, i) => toolStep(trace, call, i)),
  ]);
  return steps.flat().map((step) => JSON.stringify(step));
}

/** The messages up to and including each reply, without tool results, which belong to the tools' own steps. */
function messagesByTurn(messages: readonly Message[]): Message[][] {
  const turns: Message[][] = [[]];
  for (const message of messages) {
    if (message.role !== "tool") turns.at(-1)?.push(message);
    if (message.role === "assistant") turns.push([]);
  }
  return turns.filter((turn) => turn.length > 0);
}

function spanOf(trace: ExportedTrace, turn: number): string {
  return `${trace.traceId}_turn${turn + 1}`;
}

function modelStep(trace: ExportedTrace, turn: number, added: readonly Message[], isLast: boolean): Step {
  const model: Turn | undefined = trace.turns[turn];
  const reply = added.find((message) => message.role === "assistant");
  const calls = reply?.role === "assistant" ? reply.toolCalls : [];
  return {
    step_id: spanOf(trace, turn),
    trace_id: trace.traceId,
    timestamp: model?.startedAt ?? trace.startedAt,
    messages_added: added.map(({ role, content }) => ({ role, content })),
    tool_calls: calls.map((call) => {
      const record = trace.toolCalls.find((each) => each.turn === turn && each.id === call.id);
      return {
        tool_name: call.name,
        arguments: call.arguments,
        result: record?.result ?? null,
        error: record === undefined ? "not called" : record.error,
      };
    }),
    input: added.filter((message) => message.role !== "assistant").at(-1)?.content ?? null,
    output: reply?.content ?? null,
    metadata: {
      span_id: spanOf(trace, turn),
      parent_span_id: null,
      span_name: trace.model,
      latency_ms: model?.latencyMs ?? 0,
      tokens_input: model?.usage?.inputTokens ?? null,
      tokens_output: model?.usage?.outputTokens ?? null,
    },
    error: isLast ? trace.error : null,
  };
}

function toolStep(trace: ExportedTrace, call: ToolCallRecord, index: number): Step {
  const content = call.error ?? JSON.stringify(call.result);
  const span = `${spanOf(trace, call.turn)}_tool${index + 1}`;
  return {
    step_id: span,
    trace_id: trace.traceId,
    timestamp: call.startedAt,
    messages_added: [{ role: "tool", content }],
    tool_calls: [{ tool_name: call.name, arguments: call.arguments, result: call.result, error: call.error }],
    input: call.arguments,
    output: call.result,
    metadata: {
      span_id: span,
      parent_span_id: spanOf(trace, call.turn),
      span_name: call.name,
      latency_ms: call.durationMs,
      tokens_input: null,
      tokens_output: null,
    },
    error: call.error,
  };
}
