import { z } from "zod";
import type { Message } from "../../domain/models/conversation.js";
import type { Trace } from "../../domain/runs/trace.js";
import { judgementSchema } from "../../domain/scores/judgement.js";
import { questionSchema } from "../../domain/tasks/question.js";
import { gradeSchema, suiteTaskFactsSchema } from "../../domain/tasks/task.js";
import { ENDINGS, type Ending } from "../../domain/tasks/task-ending.js";
import { modelId } from "../../otlp/gen-ai-names.js";
import type { ImportedTrace } from "../imported-trace.js";
import { inputOf, outputOf, systemOf, textOfParts, toMessages } from "./read-messages.js";
import { toToolCall } from "./read-tool-calls.js";
import { toTurn } from "./read-turns.js";
import { countOf, durationMs, isError, isoTime, jsonOf, numberOf, textOf, textsOf } from "./span-attributes.js";
import type { ReadSpan } from "./traces-data-schema.js";

/** The spans of one trace, by what they are. */
export interface TraceSpans {
  readonly root: ReadSpan;
  /** In the order of their starts. */
  readonly models: readonly ReadSpan[];
  readonly tools: readonly ReadSpan[];
}

/** A trace of a task where the root names one, as ours does; else of a chat, which has neither gold answer nor run. */
export function toTrace(spans: TraceSpans): ImportedTrace {
  const { root } = spans;
  const { attributes } = root;
  const fields = fieldsOf(spans);
  const runId = textOf(attributes, "art_e.run.id");
  const question = jsonOf(attributes, "art_e.task", questionSchema);
  const suiteTask = jsonOf(attributes, "art_e.task", suiteTaskFactsSchema);
  const grade = jsonOf(attributes, "art_e.grade", gradeSchema);
  if (runId !== undefined && (question !== undefined || (suiteTask !== undefined && grade !== undefined))) {
    const task = { runId, epoch: Math.max(1, countOf(attributes, "art_e.epoch") ?? 1), judge: judgeOf(root) };
    if (question !== undefined) return { ...fields, ...task, taskId: question.id, task: question };
    if (suiteTask !== undefined && grade !== undefined) {
      return { ...fields, ...task, taskId: suiteTask.id, task: suiteTask, grade };
    }
  }
  const first = spans.models[0];
  const history = first === undefined ? 0 : Math.max(0, inputOf(first).length - 1);
  const asked = textOf(attributes, "input.value") ?? lastSaidBy("user", inputOf(root)) ?? "";
  return { ...fields, agentVersion: 0, question: asked, inbox: null, queryDate: null, historyLength: history };
}

function fieldsOf({ root, models, tools }: TraceSpans): Omit<Trace, "runId" | "taskId" | "epoch" | "task" | "judge"> {
  const { attributes, traceId } = root;
  const answer = textOf(attributes, "output.value") ?? lastSaidBy("assistant", outputOf(root)) ?? null;
  const turns = models.map(toTurn);
  const calls = tools.map((span) =>
    toToolCall(
      span,
      models.map(({ startTimeUnixNano }) => startTimeUnixNano),
    ),
  );
  const uuid = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return {
    traceId: textOf(attributes, "art_e.trace.id") ?? `trace_${uuid}`,
    sessionId: textOf(attributes, "session.id", "gen_ai.conversation.id") ?? `session_${uuid}`,
    agentId: textOf(attributes, "gen_ai.agent.name") || root.name || "agent",
    model: textOf(attributes, "art_e.model") ?? modelOf(models[0] ?? root),
    startedAt: isoTime(root.startTimeUnixNano),
    endedAt: isoTime(root.endTimeUnixNano),
    durationMs: durationMs(root),
    ending: endingOf(root, answer),
    error: isError(root) ? root.status?.message || "failed" : null,
    messages: messagesOf({ root, models, tools }),
    toolCalls: calls,
    turns,
    maxTurns: countOf(attributes, "art_e.max_turns") ?? turns.length,
    answer,
    sources: [...textsOf(attributes, "art_e.sources")],
    scores: scoresOf(root),
  };
}

function modelOf({ attributes }: ReadSpan): string {
  const model = textOf(attributes, "gen_ai.request.model", "gen_ai.response.model", "llm.model_name") ?? "unknown";
  return modelId(textOf(attributes, "gen_ai.provider.name", "gen_ai.system"), model);
}

function endingOf(root: ReadSpan, answer: string | null): Ending {
  const ending = z.enum(ENDINGS).safeParse(textOf(root.attributes, "art_e.ending"));
  if (ending.success) return ending.data;
  if (isError(root)) return "model_error";
  return answer === null ? "out_of_turns" : "answered";
}

/** The whole conversation, as the last model call had it; of a trace without one, question and answer. */
function messagesOf({ root, models, tools }: TraceSpans): Message[] {
  const last = models.findLast((span) => inputOf(span).length > 0) ?? root;
  const system = systemOf(last) ?? systemOf(root);
  const names = new Map(
    tools.map(({ attributes }) => [idOf(attributes), textOf(attributes, "gen_ai.tool.name") ?? ""]),
  );
  const failed = new Set(tools.filter(isError).map(({ attributes }) => idOf(attributes)));
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...toMessages([...inputOf(last), ...outputOf(last)], names, failed),
  ];
}

function idOf(attributes: ReadSpan["attributes"]): string {
  return textOf(attributes, "gen_ai.tool.call.id") ?? "";
}

function lastSaidBy(role: string, messages: ReturnType<typeof inputOf>): string | undefined {
  const message = messages.findLast((each) => each.role === role);
  return message === undefined ? undefined : textOfParts(message.parts);
}

function judgeOf({ attributes }: ReadSpan) {
  return jsonOf(attributes, "art_e.judge", judgementSchema) ?? null;
}

function scoresOf({ events }: ReadSpan): Trace["scores"] {
  const scores = events.flatMap(({ name, attributes }) => {
    const scorer = textOf(attributes, "gen_ai.evaluation.name");
    const value = numberOf(attributes, "gen_ai.evaluation.score.value");
    if (name !== "gen_ai.evaluation.result" || scorer === undefined || value === undefined) return [];
    const explanation = textOf(attributes, "gen_ai.evaluation.explanation");
    return [[scorer, { value, ...(explanation === undefined ? {} : { explanation }) }] as const];
  });
  return Object.fromEntries(scores);
}
