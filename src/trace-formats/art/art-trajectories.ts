// Writes trajectory groups for ART, with the reward of each epoch.
import type { FinishReason } from "../../models/model.js";
import type { JsonObject } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import type { TaskId } from "../../tasks/question.js";
import { sumCost, sumUsage } from "../../traces/task-result.js";
import { stepsOf } from "../../traces/trace-steps.js";
import {
  type ExportContext,
  type ExportedTrace,
  epochOf,
  knownTools,
  type LineFormat,
  openaiMessage,
  openaiTool,
  taskIdOf,
} from "../export-traces/exported-trace.js";

/** Trajectory groups for ART (https://github.com/OpenPipe/ART): one line per task, with the reward of each epoch. */
export const artFormat: LineFormat = {
  *lines(traces, context) {
    let groups = 0;
    const equal: TaskId[] = [];
    for (const { taskId, trajectories } of groupsOf(traces, context)) {
      groups++;
      if (new Set(trajectories.map(({ reward }) => reward)).size === 1) equal.push(taskId);
      yield toWellFormedJson({ trajectories });
    }
    if (groups > 0) {
      context.report.note(
        "The choices have no log probabilities, so ART trains on them only if allow_training_without_logprobs=True is set.",
      );
    }
    if (equal.length === 0) return;
    const some = equal.slice(0, 5).join(", ");
    context.report.note(
      `${equal.length} of ${groups} groups have equal rewards, so GRPO learns nothing from them: ${some}${equal.length > 5 ? " and others" : ""}. Run more epochs to get different rewards.`,
    );
  },
};

interface Group {
  readonly taskId: TaskId;
  readonly trajectories: { readonly reward: number }[];
}

/** Expects traces in the order of their task ids. */
function* groupsOf(traces: Iterable<ExportedTrace>, context: ExportContext): Generator<Group> {
  let group: Group | null = null;
  for (const trace of traces) {
    const line = trajectory(trace, context);
    if (line === null) continue;
    const taskId = taskIdOf(trace);
    if (group !== null && group.taskId !== taskId) {
      yield group;
      group = null;
    }
    group ??= { taskId, trajectories: [] };
    group.trajectories.push(line);
  }
  if (group !== null) yield group;
}

/** Returns null for a trace that is left out. */
function trajectory(trace: ExportedTrace, context: ExportContext): { readonly reward: number } | null {
  const { reward: scorer } = context.options;
  const reward = trace.scores[scorer]?.value ?? null;
  const steps = stepsOf(trace);
  const leaveOut = (reason: string) => {
    context.report.leaveOut(reason);
    return null;
  };
  if (reward === null) return leaveOut(`no ${scorer}`);
  if (steps.some(({ otherResults }) => otherResults.length > 0)) return leaveOut("a tool result without a call");
  if (steps.every(({ reply }) => reply === null)) return leaveOut("no reply");
  const choices = new Map(steps.flatMap(({ reply, turn }) => (reply === null ? [] : [[reply as object, turn]])));
  const tools = knownTools(trace, context).map(openaiTool);
  return {
    messages_and_choices: trace.messages.map((message) => {
      const converted = openaiMessage(message, "text");
      const turn = choices.get(message);
      // Replies from earlier chats in the session are not used for training.
      if (message.role !== "assistant" || turn === undefined) return converted;
      const reason = finishReason(turn?.finishReason ?? "other", message.toolCalls.length > 0);
      return { index: 0, finish_reason: reason, logprobs: null, message: converted };
    }),
    ...(tools.length === 0 ? {} : { tools }),
    reward,
    metrics: metricsOf(trace),
    metadata: metadataOf(trace),
    logs: logsOf(trace),
  } as JsonObject & { readonly reward: number };
}

function finishReason(reason: FinishReason, hasCalls: boolean): string {
  if (reason === "length") return "length";
  if (reason === "refusal") return "content_filter";
  return hasCalls ? "tool_calls" : "stop";
}

/** Numeric metrics only. */
function metricsOf(trace: ExportedTrace): Record<string, number> {
  const scores = Object.entries(trace.scores).flatMap(([name, { value }]) => (value === null ? [] : [[name, value]]));
  const { inputTokens, outputTokens, reasoningTokens } = sumUsage(trace.turns);
  const cost = sumCost(trace.turns);
  return {
    ...Object.fromEntries(scores),
    turns: trace.turns.length,
    duration: trace.durationMs / 1000,
    ...(trace.turns.some(({ usage }) => usage !== null)
      ? { input_tokens: inputTokens, output_tokens: outputTokens }
      : {}),
    ...presentProperties({ reasoning_tokens: reasoningTokens, cost_usd: cost }),
  };
}

/** Strings and numbers only. */
function metadataOf(trace: ExportedTrace): Record<string, string | number> {
  return {
    task_id: taskIdOf(trace),
    epoch: epochOf(trace),
    ...(trace.kind === "chat" ? { session_id: trace.sessionId } : { run_id: trace.runId }),
    trace_id: trace.traceId,
    agent_id: trace.agentId,
    model: trace.model,
    ending: trace.ending,
  };
}

function logsOf(trace: ExportedTrace): string[] {
  const explained = Object.entries(trace.scores).flatMap(([name, { explanation }]) =>
    explanation === undefined ? [] : [`${name}: ${explanation}`],
  );
  return trace.error === null ? explained : [`${trace.ending}: ${trace.error}`, ...explained];
}
