import { askedOf, isChatTrace } from "../../domain/runs/chat.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { conventionalModel } from "../../otlp/gen-ai-names.js";
import { type KeyValue, SPAN_KIND, type Span, type SpanEvent, STATUS_ERROR } from "../../otlp/traces-data.js";
import type { ExportedTrace } from "../trace-format.js";
import { type Attributes, double, integer, jsonText, storable, text, texts, toKeyValues } from "./attributes.js";
import { toOutputMessage, toParts, toSystemParts } from "./message-parts.js";
import type { OtlpOptions } from "./otlp-options.js";
import { otlpSpanId, otlpTraceId } from "./span-ids.js";
import { laterOf, unixNano } from "./unix-nano.js";

/** The root of a trace: the whole task, with question and answer where Langfuse and Phoenix look for them. */
export function agentSpan(trace: ExportedTrace, { content }: OtlpOptions): Span {
  const { agentId, error, ending } = trace;
  const start = unixNano(trace.startedAt);
  const end = laterOf(unixNano(trace.endedAt), start);
  const failed = error !== null || isFailure(ending);
  return {
    traceId: otlpTraceId(trace.traceId),
    spanId: rootSpanId(trace),
    name: storable(`invoke_agent ${agentId}`),
    kind: SPAN_KIND.internal,
    startTimeUnixNano: start,
    endTimeUnixNano: end,
    attributes: attributesOf(trace, content, failed),
    events: scoreEvents(trace, end, content),
    ...(failed ? { status: { code: STATUS_ERROR, message: storable(error ?? ending) } } : {}),
  };
}

export function rootSpanId({ traceId }: ExportedTrace): string {
  return otlpSpanId(traceId, "agent");
}

function attributesOf(trace: ExportedTrace, content: boolean, failed: boolean): KeyValue[] {
  const { turns, ending } = trace;
  const last = turns.at(-1);
  return toKeyValues({
    "openinference.span.kind": text("AGENT"),
    "session.id": text(trace.sessionId),
    "gen_ai.operation.name": text("invoke_agent"),
    "gen_ai.agent.name": text(trace.agentId),
    "gen_ai.conversation.id": text(trace.sessionId),
    "gen_ai.request.model": text(conventionalModel(trace.model).model),
    "gen_ai.response.finish_reasons": last === undefined ? undefined : texts([last.rawFinishReason]),
    ...(failed ? { "error.type": text(ending) } : {}),
    ...(content ? contentOf(trace) : {}),
    ...ownAttributes(trace),
  });
}

function contentOf(trace: ExportedTrace): Attributes {
  const { messages, answer, turns } = trace;
  const system = messages.find(({ role }) => role === "system")?.content;
  const question = askedOf(trace);
  const reply = (said: string) =>
    toOutputMessage({ role: "assistant", content: said, toolCalls: [] }, turns.at(-1)?.finishReason ?? "stop");
  return {
    "gen_ai.system_instructions": system === undefined ? undefined : jsonText(toSystemParts(system)),
    "gen_ai.input.messages": jsonText([toParts({ role: "user", content: question })]),
    "gen_ai.output.messages": answer === null ? undefined : jsonText([reply(answer)]),
    "input.value": text(question),
    "output.value": answer === null ? undefined : text(answer),
    "art_e.sources": texts(trace.sources),
    ...(isChatTrace(trace)
      ? {}
      : { "art_e.task": jsonText(trace.task), "art_e.judge": asJson(trace.judge ?? undefined) }),
    "art_e.grade": asJson("grade" in trace ? trace.grade : undefined),
  };
}

/** What the conventions have no attribute for. */
function ownAttributes(trace: ExportedTrace): Attributes {
  const { traceId, model, ending, maxTurns } = trace;
  return {
    "art_e.trace.id": text(traceId),
    "art_e.model": text(model),
    "art_e.ending": text(ending),
    "art_e.max_turns": integer(maxTurns),
    ...(isChatTrace(trace)
      ? {}
      : {
          "art_e.run.id": text(trace.runId),
          "art_e.task.id": typeof trace.taskId === "number" ? integer(trace.taskId) : text(trace.taskId),
          "art_e.epoch": integer(trace.epoch),
        }),
  };
}

function asJson(value: object | undefined) {
  return value === undefined ? undefined : jsonText(value);
}

/** A score that could not be told has no value, so the conventions have no event for it. */
function scoreEvents(trace: ExportedTrace, timeUnixNano: string, content: boolean): SpanEvent[] {
  return Object.entries(trace.scores).flatMap(([name, { value, explanation }]) => {
    if (value === null) return [];
    const attributes = toKeyValues({
      "gen_ai.evaluation.name": text(name),
      "gen_ai.evaluation.score.value": double(value),
      "gen_ai.evaluation.explanation": content && explanation !== undefined ? text(explanation) : undefined,
    });
    return [{ timeUnixNano, name: "gen_ai.evaluation.result", attributes }];
  });
}
