import type {
  Completion,
  Model,
  ModelRequest,
  TaskActivity,
  ToolCall,
  ToolMessage,
  ToolSpec,
} from "../models/model.js";
import type { Ending } from "../tasks/ending.js";
import type { AgentSettings, Tool, ToolContext, ToolResult } from "../tools/tool.js";
import type { ToolCallRecord, Turn } from "../traces/trace.js";
import { endingOfAnswer, type Rollout, readAnswer, refusalReason, type Transcript } from "./agent.js";

/** Returns the value of `{{tools}}` in a prompt, with one tool per line: `- id: description`. */
export function listTools(tools: readonly Tool[]): string {
  return tools.map(({ id, description }) => `- ${id}: ${description.replace(/\s+/g, " ")}`).join("\n");
}

/** After this many consecutive turns without a usable tool call, the task ends as tool_protocol_error. */
const MAX_UNUSABLE_TURNS = 3;

const ONLY_FIRST = "Not called: only the first tool call of a turn is made. Call it again if you still need it.";
const ANSWERED = "Not called: the answer was given before it.";
const EMPTY_REPLY = "Your reply was empty. Call a tool, or give your answer.";
const BROKEN_CALL =
  "Your tool call could not be read. Call a tool again, with its exact name and one JSON object as arguments, or give your answer.";
const CUT_OFF = "Your reply was cut off for its length. Be brief: call one tool, or give a short answer.";

export interface AgentRun {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly system: string;
  readonly question: string;
  readonly task?: ModelRequest["task"];
  readonly settings: AgentSettings;
  readonly context: ToolContext;
  /** Cost limit in US dollars, or null for no limit. No further turn starts once it is reached. */
  readonly maxCostUsd: number | null;
  readonly onStep?: ((step: AgentStep) => Promise<void> | void) | undefined;
  /** Receives the current activity, such as a model or tool call. `onActivity` must not throw. */
  readonly onActivity?: ((activity: TaskActivity) => void) | undefined;
}

export type AgentStep =
  | { readonly type: "reply"; readonly reply: Completion; readonly calls: readonly ToolCall[] }
  | { readonly type: "result"; readonly call: ToolCall; readonly result: ToolResult };

export function newTranscript(run: AgentRun): Transcript {
  return {
    messages: [
      { role: "system", content: run.system },
      { role: "user", content: run.question },
    ],
    toolCalls: [],
    turns: [],
  };
}

/**
 * Runs turns until the agent ends. In each turn, the model replies and its tool calls are executed. The agent ends when
 * it gives an answer (with return_final_answer, or as plain text without a tool call) or when it reaches the turn
 * limit. Throws the model port's error (`ModelError`) or the signal's reason. In that case, `transcript` contains
 * everything up to that point.
 */
export async function runAgent(run: AgentRun, transcript: Transcript): Promise<Rollout> {
  const tools = new Map(run.tools.map((tool) => [tool.id, tool]));
  const { messages, toolCalls, turns } = transcript;
  const done = (ending: Ending, answer: string | null, sources: readonly string[] = []): Rollout => ({
    messages,
    toolCalls,
    turns,
    ending,
    answer,
    sources,
  });
  let unusable = 0;
  for (let turn = 0; turn < run.settings.maxTurns; turn++) {
    if (run.maxCostUsd !== null && knownCostOf(turns) >= run.maxCostUsd) return done("out_of_budget", null);
    const reply = await askModel(run, transcript);
    const calls = run.settings.toolCalls === "first" ? reply.toolCalls.slice(0, 1) : reply.toolCalls;
    await run.onStep?.({ type: "reply", reply, calls });
    if (reply.finishReason === "refusal") return { ...done("refused", null), reason: refusalReason(reply) };
    if (reply.toolCalls.length === 0) {
      const complaint = complaintAbout(reply);
      if (complaint === null) {
        const { answer, sources } = readAnswer(reply.content);
        return done(endingOfAnswer(answer, sources), answer, sources);
      }
      messages.push({ role: "user", content: complaint });
      continue;
    }
    let usable = false;
    for (const [i, call] of calls.entries()) {
      run.onActivity?.({ type: "tool", name: call.name });
      const called = await callTool(call, turn, tools, run.context);
      messages.push(called.message);
      toolCalls.push(called.record);
      await run.onStep?.({ type: "result", call, result: called.result });
      if (called.result.ok && called.result.final !== undefined) {
        const { answer, sources } = called.result.final;
        // Training formats require a result for every call.
        messages.push(...reply.toolCalls.slice(i + 1).map((rest) => toolMessage(rest, ANSWERED, true)));
        return done(endingOfAnswer(answer, sources), answer.trim(), sources);
      }
      usable ||= called.result.ok || called.result.kind === "invalid_email" || called.result.kind === "failed";
    }
    for (const call of reply.toolCalls.slice(calls.length)) {
      messages.push(toolMessage(call, ONLY_FIRST, true));
    }
    unusable = usable ? 0 : unusable + 1;
    if (unusable >= MAX_UNUSABLE_TURNS) return done("tool_protocol_error", null);
  }
  return done("out_of_turns", null);
}

/** Returns the total known cost in US dollars. Turns with an unknown price do not count toward the limit. */
function knownCostOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, turn) => sum + (turn.costUsd ?? 0), 0);
}

async function askModel(run: AgentRun, transcript: Transcript): Promise<Completion> {
  const startedAt = new Date().toISOString();
  run.onActivity?.({ type: "calling" });
  const reply = await run.model.complete(
    {
      system: run.system,
      messages: transcript.messages.slice(1),
      tools: specsOf(run.tools),
      toolChoice: run.settings.toolChoice,
      maxTokens: run.settings.maxTokens,
      reasoningTokens: run.settings.reasoningTokens,
      reasoningEffort: run.settings.reasoningEffort,
      temperature: run.settings.temperature,
      task: run.task,
      onProgress: run.onActivity,
    },
    run.context.signal,
  );
  transcript.messages.push({
    role: "assistant",
    content: reply.content,
    toolCalls: [...reply.toolCalls],
    ...(reply.reasoning === undefined ? {} : { reasoning: reply.reasoning }),
    ...(reply.providerState === undefined ? {} : { providerState: reply.providerState }),
  });
  transcript.turns.push({
    startedAt,
    ...(reply.model === undefined ? {} : { model: reply.model }),
    ...(reply.responseId === undefined ? {} : { responseId: reply.responseId }),
    latencyMs: reply.latencyMs,
    waitedMs: reply.waitedMs ?? 0,
    ...(reply.waits === undefined ? {} : { waits: [...reply.waits] }),
    finishReason: reply.finishReason,
    rawFinishReason: reply.rawFinishReason,
    usage: reply.usage,
    costUsd: reply.costUsd ?? null,
    retries: [...reply.retries],
    ...(reply.sent === undefined ? {} : { sent: reply.sent }),
    cached: reply.cached ?? false,
  });
  return reply;
}

const specs = new WeakMap<readonly Tool[], readonly ToolSpec[]>();

/** Memoized per tools array, so that providers can reuse its serialized form. */
function specsOf(tools: readonly Tool[]): readonly ToolSpec[] {
  const known = specs.get(tools);
  if (known !== undefined) return known;
  const made = tools.map(({ id, description, parameters }) => ({ name: id, description, parameters }));
  specs.set(tools, made);
  return made;
}

/** Returns a message to a model whose reply is neither a call nor an answer, or null if it is an answer. */
function complaintAbout(reply: Completion): string | null {
  if (reply.finishReason === "length") return CUT_OFF;
  if (reply.finishReason === "broken_call") return BROKEN_CALL;
  return reply.content.trim() === "" ? EMPTY_REPLY : null;
}

interface CalledTool {
  readonly message: ToolMessage;
  readonly record: ToolCallRecord;
  readonly result: ToolResult;
}

/**
 * Executes one tool call. The model's mistakes become error results that explain how to correct them. An error thrown
 * by a tool is a bug. It propagates, so that the agent is not scored for it.
 */
export async function callTool(
  call: ToolCall,
  turn: number,
  tools: ReadonlyMap<string, Tool>,
  context: ToolContext,
): Promise<CalledTool> {
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const result = await attempt(call, tools, context);
  const content = result.ok ? textOf(result) : result.error;
  return {
    result,
    message: toolMessage(call, content, !result.ok),
    record: {
      id: call.id,
      name: call.name,
      arguments: call.arguments,
      result: result.ok ? result.value : null,
      error: result.ok ? null : result.error,
      errorKind: result.ok ? null : result.kind,
      ...(result.repairs === undefined ? {} : { repairs: result.repairs }),
      turn,
      startedAt,
      durationMs: performance.now() - started,
    },
  };
}

/** Returns text unchanged, because JSON would quote it and escape its line breaks. */
function textOf({ value, json }: Extract<ToolResult, { ok: true }>): string {
  return typeof value === "string" ? value : (json ?? JSON.stringify(value));
}

function toolMessage(call: ToolCall, content: string, isError: boolean): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content, isError };
}

async function attempt(call: ToolCall, tools: ReadonlyMap<string, Tool>, context: ToolContext): Promise<ToolResult> {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const known = [...tools.keys()].join(", ");
    return { ok: false, kind: "unknown_tool", error: `There is no tool "${call.name}". The tools are: ${known}.` };
  }
  if (call.invalid !== undefined) {
    return {
      ok: false,
      kind: "unparsable_call",
      error: `The arguments of ${call.name} are not one JSON object. Call it again with valid JSON.`,
    };
  }
  return tool.call(call.arguments, context);
}
