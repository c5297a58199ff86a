import type { JsonObject } from "../../domain/json.js";
import { askedOf, isChatTrace } from "../../domain/runs/chat.js";
import { timesOf } from "../../domain/runs/task-times.js";
import { isSuiteTrace } from "../../domain/runs/trace.js";
import { FACTS_KEY, toTraceFacts } from "../../domain/runs/trace-facts.js";
import { stepsOf } from "../../domain/runs/trace-steps.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import type { ExportContext, ExportedTrace } from "../trace-format.js";
import { epochOf, goldOf, taskIdOf } from "../trace-parts.js";
import { toWellFormedJson } from "../well-formed-json.js";
import { type TranscriptWriter, transcriptOf } from "./inspect-events.js";
import { inspectMessages } from "./inspect-messages.js";
import { modelOutput } from "./inspect-output.js";
import { inspectScores } from "./inspect-scores.js";
import { usageByModel } from "./inspect-usage.js";

/** A trace as Inspect's EvalSample, with every field that its viewer counts on. */
export function inspectSample(trace: ExportedTrace, context: ExportContext): JsonObject {
  const messages = inspectMessages(trace);
  const scores = inspectScores(trace, context);
  const transcript = transcriptOf(trace, messages, scores, context);
  addEnd(transcript, trace, context);
  const { attachments, events } = transcript;
  const lastReply = messages.findLast(({ role }) => role === "assistant");
  const lastTurn = stepsOf(trace).findLast(({ reply }) => reply !== null)?.turn ?? null;
  return {
    ...identityOf(trace),
    messages,
    output: modelOutput(trace, lastReply, lastTurn),
    scores,
    metadata: metadataOf(trace),
    // A text, since a log holds no null.
    store: { [FACTS_KEY]: toWellFormedJson(toTraceFacts(trace)) },
    events,
    ...figuresOf(trace),
    attachments,
    ...errorField(trace),
    ...limitField(trace, context),
  };
}

/** A sample's line in the list of samples, without its conversation; long texts are cut. */
export function inspectSummary(trace: ExportedTrace, context: ExportContext): JsonObject {
  const { id, epoch, input, target } = identityOf(trace);
  const scores = Object.entries(inspectScores(trace, context)).map(([name, score]) => [
    name,
    { ...score, ...cutField(score, "answer"), ...cutField(score, "explanation") },
  ]);
  const { limit } = limitField(trace, context);
  return {
    ...{ id, epoch, input: cut(input), target: cut(target) },
    metadata: { ending: trace.ending },
    scores: Object.fromEntries(scores),
    ...figuresOf(trace),
    ...(isError(trace) ? { error: cut(trace.error ?? trace.ending) } : {}),
    ...(limit === undefined ? {} : { limit: limit.type }),
    ...{ retries: 0, completed: true, message_count: trace.messages.length },
  };
}

const MAX_SUMMARY_CHARS = 1_000;

function cut(text: string): string {
  return text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS)}...` : text;
}

function cutField(score: JsonObject, field: string): JsonObject {
  const text = score[field];
  return typeof text === "string" ? { [field]: cut(text) } : {};
}

function identityOf(trace: ExportedTrace) {
  return { id: taskIdOf(trace), epoch: epochOf(trace), input: askedOf(trace), target: goldOf(trace) };
}

function figuresOf(trace: ExportedTrace): JsonObject {
  const { modelTimeMs, toolTimeMs } = timesOf(trace);
  return {
    model_usage: usageByModel(trace),
    role_usage: {},
    started_at: trace.startedAt,
    completed_at: trace.endedAt,
    total_time: trace.durationMs / 1000,
    working_time: (modelTimeMs + toolTimeMs) / 1000,
    uuid: trace.traceId,
    turn_count: trace.turns.length,
  };
}

function metadataOf(trace: ExportedTrace): JsonObject {
  const { ending, agentId, sessionId, traceId, sources } = trace;
  const shared = { ending, agent_id: agentId, session_id: sessionId, trace_id: traceId, sources };
  if (isChatTrace(trace)) {
    const { inbox, queryDate } = trace;
    return {
      ...shared,
      ...(inbox === null ? {} : { inbox }),
      ...(queryDate === null ? {} : { query_date: queryDate }),
    };
  }
  if (isSuiteTrace(trace)) {
    const { suite, tool, snapshot, tags } = trace.task;
    return { ...shared, suite, tool, snapshot, tags, state: trace.grade.state, reason: trace.grade.reason };
  }
  const { inbox_address, query_date, how_realistic, message_ids } = trace.task;
  return { ...shared, inbox: inbox_address, query_date, how_realistic, gold_sources: message_ids };
}

/** A task whose time was up has reached a limit; other failures are errors. */
export function isError({ ending }: ExportedTrace): boolean {
  return isFailure(ending) && ending !== "timeout";
}

function evalError(message: string): JsonObject {
  return { message, traceback: message, traceback_ansi: message };
}

function errorField(trace: ExportedTrace): JsonObject {
  return isError(trace) ? { error: evalError(trace.error ?? trace.ending) } : {};
}

interface SampleLimit {
  readonly type: "turn" | "time" | "cost";
  readonly limit: number;
}

function limitField(trace: ExportedTrace, { run }: ExportContext): { readonly limit?: SampleLimit & JsonObject } {
  if (trace.ending === "out_of_turns") return { limit: { type: "turn", limit: trace.maxTurns } };
  if (trace.ending === "timeout") {
    return { limit: { type: "time", limit: (run?.settings.taskTimeoutMs ?? trace.durationMs) / 1000 } };
  }
  if (trace.ending !== "out_of_budget") return {};
  return { limit: { type: "cost", limit: run?.settings.maxTaskCostUsd ?? 0 } };
}

/** The transcript ends with the error or the limit that ended the task. */
function addEnd(transcript: TranscriptWriter, trace: ExportedTrace, context: ExportContext): void {
  const { limit } = limitField(trace, context);
  const message = trace.error ?? trace.ending;
  if (limit !== undefined) transcript.add("sample_limit", trace.endedAt, { ...limit, message });
  if (isError(trace)) transcript.add("error", trace.endedAt, { error: evalError(message) });
}
