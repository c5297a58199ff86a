// Writes a trace as an ATIF trajectory. What ATIF has no field for goes into `extra`.
import type { Message } from "../../models/model.js";
import { reasoningText } from "../../models/provider-reasoning.js";
import type { JsonObject } from "../../platform/json.js";
import { definedProperties } from "../../platform/optional-values.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import { askedOf, type Turn } from "../../traces/trace.js";
import { toTraceFacts } from "../../traces/trace-facts.js";
import { type CallStep, ownMessages, type Step, stepsOf } from "../../traces/trace-steps.js";
import {
  agentVersionOf,
  argumentsObject,
  type ExportContext,
  type ExportedTrace,
  knownTools,
  openaiTool,
} from "../export-traces/exported-trace.js";

/** Strict readers of this version reject later versions, which add no fields that a trace needs. */
const VERSION = "ATIF-v1.7";

/** Formats a trace as an ATIF trajectory on one line. Fields without an ATIF equivalent go into `extra`. */
export function atifTrajectory(trace: ExportedTrace, context: ExportContext): string[] {
  const traceSteps = stepsOf(trace).flatMap((step) => stepsAround(trace, step));
  // ATIF requires at least one step, even for a task whose setup failed before any message.
  const question: AtifStep = { source: "user", message: askedOf(trace), timestamp: trace.startedAt };
  const steps = traceSteps.length === 0 ? [question] : traceSteps;
  const tools = knownTools(trace, context).map(openaiTool);
  const trajectory = {
    schema_version: VERSION,
    session_id: trace.sessionId,
    trajectory_id: trace.traceId,
    agent: {
      name: trace.agentId,
      version: String(agentVersionOf(trace, context.run) ?? 0),
      model_name: trace.model,
      ...(tools.length === 0 ? {} : { tool_definitions: tools }),
    },
    steps: steps.map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: totals(steps),
    extra: extraOf(trace),
  };
  return [toWellFormedJson(trajectory)];
}

interface AtifStep {
  readonly source: "system" | "user" | "agent";
  readonly message: string;
  readonly reasoning_content?: string;
  readonly timestamp: string;
  readonly model_name?: string;
  readonly llm_call_count?: number;
  readonly tool_calls?: readonly JsonObject[];
  readonly observation?: JsonObject;
  readonly metrics?: ReturnType<typeof metricsOf>;
}

/** Converts a reply and each message before it into a separate step. */
function stepsAround(trace: ExportedTrace, step: Step): AtifStep[] {
  const timestamp = step.turn?.startedAt ?? trace.startedAt;
  const before = step.before.map(
    (message): AtifStep => ({ source: sourceOf(message), message: message.content, timestamp }),
  );
  if (step.reply === null && step.otherResults.length === 0) return before;
  const results = [
    ...step.calls.flatMap(({ call, result }) =>
      result === null ? [] : [{ source_call_id: call.id, content: result.content }],
    ),
    ...step.otherResults.map(({ content }) => ({ content })),
  ];
  const reasoning = step.reply === null ? "" : reasoningText(step.reply);
  const reply: AtifStep = {
    source: "agent",
    message: step.reply?.content ?? "",
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    timestamp,
    ...(step.turn === null ? {} : { llm_call_count: 1 }),
    ...definedProperties({ model_name: step.turn?.model }),
    ...(step.calls.length === 0 ? {} : { tool_calls: step.calls.map(toolCall) }),
    ...(results.length === 0 ? {} : { observation: { results } }),
    ...(step.turn === null ? {} : { metrics: metricsOf(step.turn, step.calls) }),
  };
  return [...before, reply];
}

function sourceOf({ role }: Message): "system" | "user" {
  return role === "system" ? "system" : "user";
}

function toolCall({ call }: CallStep): JsonObject {
  return { tool_call_id: call.id, function_name: call.name, arguments: argumentsObject(call) };
}

/** JSON leaves out undefined fields. */
function metricsOf({ usage, costUsd, ...turn }: Turn, calls: readonly CallStep[]) {
  const failed = calls.flatMap(({ call, record }) => (record?.error == null ? [] : [[call.id, record.error]]));
  return {
    prompt_tokens: usage?.inputTokens,
    completion_tokens: usage?.outputTokens,
    cached_tokens: usage?.cachedInputTokens,
    cost_usd: costUsd ?? undefined,
    extra: {
      finish_reason: turn.finishReason,
      latency_ms: turn.latencyMs,
      waited_ms: turn.waitedMs,
      response_id: turn.responseId,
      cache_write_tokens: usage?.cacheWriteTokens,
      reasoning_tokens: usage?.reasoningTokens,
      tool_errors: failed.length === 0 ? undefined : Object.fromEntries(failed),
    },
  };
}

/** Sums over the written steps, so that readers compute the same totals. */
function totals(steps: readonly AtifStep[]): JsonObject {
  const stepMetrics = steps.flatMap(({ metrics }) => metrics ?? []);
  const costs = stepMetrics.flatMap((metrics) => metrics.cost_usd ?? []);
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  return {
    total_prompt_tokens: sum(stepMetrics.map((metrics) => metrics.prompt_tokens ?? 0)),
    total_completion_tokens: sum(stepMetrics.map((metrics) => metrics.completion_tokens ?? 0)),
    total_cached_tokens: sum(stepMetrics.map((metrics) => metrics.cached_tokens ?? 0)),
    ...(costs.length === 0 ? {} : { total_cost_usd: sum(costs) }),
    total_steps: steps.length,
  };
}

/** The other known facts about the trace, under their field names. Earlier chats in its session are left out. */
function extraOf(trace: ExportedTrace): JsonObject {
  if (trace.kind !== "chat") return toTraceFacts(trace);
  return toTraceFacts({ ...trace, messages: [...ownMessages(trace)], historyLength: 0 });
}
