// Reads the ATIF trajectories of other programs as traces or chats.
import { z } from "zod";
import type { Message } from "../../models/model.js";
import { cacheWrites, reasoningUsage, type Usage } from "../../models/usage.js";
import { jsonObjectSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { sha256Of } from "../../platform/sha256.js";
import { NamedCounts } from "../../statistics/intervals.js";
import { ENDINGS, isFailure } from "../../tasks/ending.js";
import { type ChatTrace, type ToolCallRecord, type Turn, traceSchema } from "../../traces/trace.js";
import { fromTraceFacts } from "../../traces/trace-facts.js";
import {
  checkValue,
  DescribedTools,
  type ImportSource,
  NO_GOLD,
  parseImported,
  parseTrace,
  reasoningField,
  textOfContent,
  tokenCount,
} from "../imported-trace.js";
import { readDocuments } from "../open-import/imported-file.js";

/** The supported fields of a trajectory. Unknown fields are allowed, and optional fields may be null. */
const text = z.string().nullish();

const number = z.number().nullish();

const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().nullish() }))])
  .transform(textOfContent);

const callSchema = z.looseObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: jsonObjectSchema,
});

/** An ISO 8601 time converted to UTC, or null for any other text, such as "yesterday". */
const timestampSchema = text.transform((text) => {
  const ms = /^\d{4}-\d\d-\d\d[T ]/.test(text ?? "") ? Date.parse(text ?? "") : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
});

const stepSchema = z.looseObject({
  timestamp: timestampSchema,
  source: z.enum(["system", "user", "agent"]),
  model_name: text,
  message: contentSchema.nullish(),
  reasoning_content: text.catch(null),
  llm_call_count: number,
  tool_calls: z.array(callSchema).nullish(),
  observation: z
    .looseObject({
      results: z.array(z.looseObject({ source_call_id: text, content: contentSchema.nullish() })).nullish(),
    })
    .nullish(),
  metrics: z
    .looseObject({
      prompt_tokens: number,
      completion_tokens: number,
      cached_tokens: number,
      cost_usd: number,
      extra: z
        .looseObject({
          cache_write_tokens: number,
          reasoning_tokens: number,
          tool_errors: z.record(z.string(), z.string()).nullish(),
        })
        .nullish()
        .catch(null),
    })
    .nullish(),
});

type AtifStep = z.output<typeof stepSchema>;

const definitionSchema = z.looseObject({
  function: z.looseObject({ name: z.string(), description: text, parameters: jsonObjectSchema.nullish() }),
});

const trajectorySchema = z.looseObject({
  schema_version: z.string().regex(/^ATIF-v1\.\d+$/, "only ATIF-v1.x is supported"),
  session_id: text,
  trajectory_id: text,
  agent: z.looseObject({
    name: z.string(),
    version: z.string(),
    model_name: text,
    tool_definitions: z.array(definitionSchema.nullable().catch(null)).nullish(),
  }),
  steps: z.array(stepSchema).min(1, "has no steps"),
  extra: z.record(z.string(), z.unknown()).nullish(),
});

type Trajectory = z.output<typeof trajectorySchema>;

/** Reads ATIF trajectories, one per line or pretty-printed. */
export function readAtif(file: string): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  let agentVersion: number | undefined;
  return {
    async *traces() {
      for await (const { text, line } of readDocuments(file)) {
        const where = `${file}, line ${line}`;
        const trajectory = checkValue(trajectorySchema, parseImported(text, where), where);
        tools.add((trajectory.agent.tool_definitions ?? []).flatMap((definition) => definition?.function ?? []));
        agentVersion = agentVersionOf(trajectory);
        const own = fromTraceFacts(trajectory.extra, toMessages(trajectory.steps));
        const isOwn = own !== null && own.traceId === trajectory.trajectory_id;
        yield { where, trace: isOwn ? parseTrace(own, `${where}, extra`) : toTrace(trajectory, lacking) };
      }
    },
    tools: () => tools.list(),
    run: () => ({ settings: agentVersion === undefined ? {} : { agentVersion } }),
    lacking: () => lacking.counts,
  };
}

/** Converts another program's trajectory into a chat, because such a trajectory does not contain a gold answer. */
function toTrace(trajectory: Trajectory, lacking: NamedCounts): ChatTrace {
  const { agent, steps, extra } = trajectory;
  const times = steps.flatMap(({ timestamp }) => timestamp ?? []);
  const [startedAt, endedAt] = [times[0], times.at(-1)].map((time) => new Date(time ?? 0).toISOString()) as [
    string,
    string,
  ];
  const turns = toTurns(steps, startedAt);
  const { answer, sources } = answerOf(steps.findLast(({ source }) => source === "agent"));
  const ending = z.enum(ENDINGS).safeParse(extra?.ending).data ?? (answer === null ? "out_of_turns" : "answered");
  const traceId = trajectory.trajectory_id || `trace_${digestOf(trajectory)}`;
  lacking.add(NO_GOLD);
  if (times.length === 0) lacking.add("no timestamps");
  if (turns.length > 0) lacking.add("no call durations");
  if (turns.every(({ usage }) => usage === null)) lacking.add("no tokens");
  return {
    kind: "chat",
    traceId,
    sessionId: trajectory.session_id || `session_${traceId}`,
    agentId: agent.name || "agent",
    model: agent.model_name || turns.find(({ model }) => model !== undefined)?.model || "unknown",
    startedAt,
    endedAt,
    durationMs: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)),
    ending,
    error: isFailure(ending) ? ending : null,
    messages: toMessages(steps),
    toolCalls: toToolCalls(steps, startedAt),
    turns,
    maxTurns: turns.length,
    answer: isFailure(ending) ? null : answer,
    sources,
    scores: traceSchema.shape.scores.safeParse(extra?.scores).data ?? {},
    agentVersion: agentVersionOf(trajectory) ?? 0,
    question: steps.find(({ source }) => source === "user")?.message ?? "",
    inbox: null,
    queryDate: null,
    historyLength: 0,
  };
}

/** Returns the arguments of a `return_final_answer` call, otherwise the text of the last reply. */
function answerOf(last: AtifStep | undefined): Pick<ChatTrace, "answer" | "sources"> {
  const finalCall = last?.tool_calls?.find(({ function_name: name }) => name === "return_final_answer");
  const finalAnswer = finalAnswerSchema.safeParse(finalCall?.arguments).data;
  if (finalAnswer !== undefined) return finalAnswer;
  const text = last?.tool_calls?.length ? "" : (last?.message ?? "");
  return { answer: text.trim() === "" ? null : text, sources: [] };
}

const finalAnswerSchema = z.object({ answer: z.string(), sources: z.array(z.string()).catch([]) });

/** Returns undefined if the version is not an integer like art-e's agent versions. */
function agentVersionOf({ agent: { version } }: Trajectory): number | undefined {
  return /^\d{1,9}$/.test(version) ? Number(version) : undefined;
}

function digestOf(trajectory: Trajectory): string {
  return sha256Of(JSON.stringify(trajectory)).slice(0, 32);
}

/** Converts the steps of a trajectory into messages. */
function toMessages(steps: readonly AtifStep[]): Message[] {
  return steps.flatMap((step): Message[] => {
    const content = step.message ?? "";
    if (step.source !== "agent") return [{ role: step.source, content }];
    const calls = step.tool_calls ?? [];
    const failed = new Set(Object.keys(step.metrics?.extra?.tool_errors ?? {}));
    const names = new Map(calls.map((call) => [call.tool_call_id, call.function_name]));
    const results = (step.observation?.results ?? []).map(({ source_call_id, content: text }): Message => {
      const toolCallId = source_call_id ?? "";
      const isError = failed.has(toolCallId);
      return { role: "tool", toolCallId, name: names.get(toolCallId) ?? "", content: text ?? "", isError };
    });
    const toolCalls = calls.map((call) => ({
      id: call.tool_call_id,
      name: call.function_name,
      arguments: call.arguments,
    }));
    const reasoning = reasoningField([step.reasoning_content]);
    return [{ role: "assistant", content, toolCalls, ...reasoning }, ...results];
  });
}

/** Returns one turn per model call. The latency is 0, because ATIF does not contain durations. */
function toTurns(steps: readonly AtifStep[], startedAt: string): Turn[] {
  return steps.filter(isModelCall).map((step) => ({
    startedAt: step.timestamp ?? startedAt,
    ...presentProperties({ model: step.model_name }),
    latencyMs: 0,
    finishReason: (step.tool_calls ?? []).length > 0 ? "tool_calls" : "stop",
    rawFinishReason: "",
    usage: usageFromMetrics(step),
    costUsd: step.metrics?.cost_usd ?? null,
    retries: [],
    cached: false,
  }));
}

/** Returns the tool calls that have a result. */
function toToolCalls(steps: readonly AtifStep[], startedAt: string): ToolCallRecord[] {
  return steps.filter(isModelCall).flatMap((step, turn) =>
    (step.tool_calls ?? []).flatMap((call): ToolCallRecord[] => {
      const observation = step.observation?.results?.find(({ source_call_id }) => source_call_id === call.tool_call_id);
      if (observation === undefined) return [];
      const callFields = { id: call.tool_call_id, name: call.function_name, arguments: call.arguments };
      const outcome = { result: observation.content ?? "", error: null, errorKind: null };
      return [{ ...callFields, ...outcome, turn, startedAt: step.timestamp ?? startedAt, durationMs: 0 }];
    }),
  );
}

function isModelCall({ source, llm_call_count }: AtifStep): boolean {
  return source === "agent" && llm_call_count !== 0;
}

function usageFromMetrics({ metrics }: AtifStep): Usage | null {
  const { prompt_tokens, completion_tokens, cached_tokens, extra } = metrics ?? {};
  if (prompt_tokens == null && completion_tokens == null) return null;
  const [inputTokens, outputTokens] = [tokenCount(prompt_tokens), tokenCount(completion_tokens)];
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: Math.min(tokenCount(cached_tokens), inputTokens),
    ...cacheWrites(tokenCount(extra?.cache_write_tokens)),
    ...reasoningUsage(Math.min(tokenCount(extra?.reasoning_tokens), outputTokens)),
  };
}
