// The agent loop: the only rules for executing an agent's replies and for ending its work. Runs and chats drive it with
// a model (`agentLoop`), training episodes with the trainer's calls (`AgentLoop`).
import type { Completion, Model, ToolCall, ToolMessage, ToolSpec } from "../models/model.js";
import { openDeadline, untilAborted } from "../platform/deadline.js";
import { memoize } from "../platform/memoize.js";
import { definedProperties } from "../platform/optional-values.js";
import type { Ending } from "../tasks/ending.js";
import {
  resultJson,
  resultValue,
  type Tool,
  type ToolContext,
  type ToolErrorKind,
  type ToolResult,
} from "../tools/tool.js";
import { turnOf } from "../traces/reply-turns.js";
import type { OwnRunSettings } from "../traces/run-settings.js";
import type { ToolCallRecord, Turn } from "../traces/trace.js";
import type { Agent, AgentSettings } from "./agent.js";
import type { AgentBackend, AgentTask, CallResult } from "./agent-backend.js";
import { renderPrompt } from "./prompt-template.js";
import { readAnswer } from "./rollout/answer-text.js";
import { endingOfAnswer, type Rollout, refusalReason, type Transcript } from "./rollout.js";
import { toolResultsFor, toolResultText } from "./tool-result-text.js";

/** An agent of this program, with the model and tools that it uses for a task. */
export interface LoopAgent {
  readonly agent: Pick<Agent, "prompt" | "settings">;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** Limits per task. No further turn starts once one is reached. */
  readonly limits: Pick<OwnRunSettings, "maxTaskCostUsd">;
}

interface LoopRules {
  readonly tools: readonly Tool[];
  readonly toolCalls: AgentSettings["toolCalls"];
  readonly toolResults: AgentSettings["toolResults"];
  /** Timeout per tool call in milliseconds, or null if only the task's own time limit applies. */
  readonly toolTimeoutMs: number | null;
  /** Whether the task's cost or token limit is reached. Called after each turn. */
  isOverBudget(transcript: Transcript): boolean;
}

type RolloutEnd = Pick<Rollout, "answer" | "sources" | "reason">;

interface CalledTool<R extends CallResult> {
  readonly message: ToolMessage;
  readonly record: ToolCallRecord;
  readonly result: R;
}

/** After this many consecutive turns with only unusable tool calls, the task ends as tool_protocol_error. */
const MAX_UNUSABLE_TURNS = 3;

/**
 * Whether a call with this kind of error is usable. A call is unusable if it never reached its tool, because the model
 * called it wrongly. It is usable if the tool refused it, failed or took too long.
 */
const IS_USABLE: Readonly<Record<ToolErrorKind | "timeout", boolean>> = {
  unknown_tool: false,
  unparsable_call: false,
  bad_arguments: false,
  invalid_email: true,
  failed: true,
  timeout: true,
};

const ONLY_FIRST = "Not called: only the first tool call of a turn is made. Call it again if you still need it.";
const ANSWERED = "Not called: the answer was given before it.";
const EMPTY_REPLY = "Your reply was empty. Call a tool, or give your answer.";
const BROKEN_CALL =
  "Your tool call could not be read. Call a tool again, with its exact name and one JSON object as arguments, or give your answer.";
const CUT_OFF = "Your reply was cut off for its length. Be brief: call one tool, or give a short answer.";

/**
 * Returns an agent that answers with a model. It ends when it gives an answer (with return_final_answer, or as plain
 * text without a tool call) or when it reaches a limit. Throws the model port's error (`ModelError`) or the signal's
 * reason. In that case, the transcript contains everything up to that point.
 */
export function agentLoop({ agent, model, tools, limits: { maxTaskCostUsd } }: LoopAgent): AgentBackend {
  const { settings } = agent;
  const isOverBudget = ({ turns }: Transcript) => maxTaskCostUsd !== null && knownCostOf(turns) >= maxTaskCostUsd;
  const toolResults = toolResultsFor(settings.toolResults, model.id);
  const rules: LoopRules = { tools, toolCalls: settings.toolCalls, toolResults, toolTimeoutMs: null, isOverBudget };
  return {
    async answer(task, transcript) {
      const { id, epoch, variables, maxTurns, instructions = null, onActivity, onDelta } = task;
      const prompt = promptFor(agent, tools, variables, maxTurns);
      const system = instructions === null ? prompt : `${prompt}\n\n${instructions}`;
      const loop = new AgentLoop(rules, task, transcript);
      loop.start(system);
      while (loop.rollout === null) {
        const startedAt = new Date().toISOString();
        onActivity?.({ type: "calling" });
        const reply = await model.complete(
          {
            system,
            messages: transcript.messages.slice(1),
            tools: specsOf(tools),
            toolChoice: settings.toolChoice,
            maxTokens: settings.maxTokens,
            reasoningTokens: settings.reasoningTokens,
            reasoningEffort: settings.reasoningEffort,
            temperature: settings.temperature,
            task: id === null ? undefined : { id, epoch },
            onProgress: onActivity,
            onDelta,
          },
          task.context.signal,
        );
        await loop.offer(reply, startedAt);
      }
      return loop.rollout;
    },
  };
}

export function promptFor(
  { prompt }: Pick<Agent, "prompt">,
  tools: readonly Tool[],
  variables: AgentTask["variables"],
  maxTurns: number,
): string {
  return renderPrompt(prompt, {
    ...variables,
    max_turns: maxTurns,
    // The tool list is computed only if the prompt uses it.
    get tools() {
      return tools.map(({ id, description }) => `- ${id}: ${description.replace(/\s+/g, " ")}`).join("\n");
    },
  });
}

/** The agent loop as a step machine: `start`, then `offer` one reply at a time until there is a rollout. */
export class AgentLoop {
  private readonly tools: ReadonlyMap<string, Tool>;
  private unusable = 0;
  private ended: Rollout | null = null;

  /** Fills the initially empty transcript. */
  constructor(
    private readonly rules: LoopRules,
    private readonly task: AgentTask,
    private readonly transcript: Transcript,
  ) {
    this.tools = new Map(rules.tools.map((tool) => [tool.id, tool]));
  }

  /** The rollout, or null while the agent is running. */
  get rollout(): Rollout | null {
    return this.ended;
  }

  get turnsLeft(): number {
    return Math.max(0, this.task.maxTurns - this.transcript.turns.length);
  }

  start(system: string): void {
    const { history = [], instruction } = this.task;
    this.transcript.messages.push({ role: "system", content: system }, ...history, {
      role: "user",
      content: instruction,
    });
  }

  /**
   * Records a reply as a turn, executes its tool calls, and decides whether the agent ends. Returns the calls' results.
   * If `refusal` is not null, it is the result of every call, and no tool is called. Throws a tool's error, which is a
   * bug, or the signal's reason.
   */
  async offer(reply: Completion, startedAt: string, refusal: CallResult | null = null): Promise<readonly CallResult[]> {
    const { rules, task, transcript } = this;
    const { messages, toolCalls, turns } = transcript;
    const turn = turns.length;
    messages.push(assistantMessage(reply));
    turns.push(turnOf(reply, startedAt));
    const calls = rules.toolCalls === "first" ? reply.toolCalls.slice(0, 1) : reply.toolCalls;
    const complaint = reply.toolCalls.length > 0 || reply.finishReason === "refusal" ? null : complaintAbout(reply);
    await task.onStep?.({ type: "reply", reply, calls, isRejected: complaint !== null });
    if (reply.finishReason === "refusal") {
      this.end("refused", { reason: refusalReason(reply) });
      return [];
    }
    if (reply.toolCalls.length === 0) {
      if (complaint === null) this.endWithAnswer(readAnswer(reply.content));
      else {
        messages.push({ role: "user", content: complaint });
        this.endAtLimits();
      }
      return [];
    }
    const results: CallResult[] = [];
    for (const [i, call] of calls.entries()) {
      task.onActivity?.({ type: "tool", name: call.name });
      const { message, record, result } = await this.call(call, turn, refusal);
      // The caller ended the agent during the call. Its rollout no longer changes.
      if (this.ended !== null) return results;
      messages.push({ ...message, content: this.textFor(message.content, result, record) });
      toolCalls.push(record);
      results.push(result);
      await task.onStep?.({ type: "result", call, result });
      if (result.ok && result.final !== undefined) {
        // Training formats require a result for every call.
        messages.push(...reply.toolCalls.slice(i + 1).map((rest) => toolMessage(rest, ANSWERED, true)));
        this.endWithAnswer(result.final);
        return results;
      }
    }
    for (const call of reply.toolCalls.slice(calls.length)) messages.push(toolMessage(call, ONLY_FIRST, true));
    const isUsable = results.some((result) => result.ok || IS_USABLE[result.kind]);
    this.unusable = isUsable ? 0 : this.unusable + 1;
    if (this.unusable >= MAX_UNUSABLE_TURNS) this.end("tool_protocol_error");
    else this.endAtLimits();
    return results;
  }

  /** Ends the agent. The loop calls this at its limits, and a caller can too. */
  end(ending: Ending, { answer = null, sources = [], reason }: Partial<RolloutEnd> = {}): Rollout {
    this.ended = { ...this.transcript, ending, answer, sources, ...definedProperties({ reason }) };
    return this.ended;
  }

  private textFor(plain: string, result: CallResult, { result: value }: ToolCallRecord): string {
    const { id: taskId, epoch, variables } = this.task;
    const outcome = result.ok ? { ok: true as const, value } : result;
    return toolResultText(this.rules.toolResults, plain, outcome, { taskId, epoch, owner: variables.inbox_address });
  }

  private async call(call: ToolCall, turn: number, refusal: CallResult | null): Promise<CalledTool<CallResult>> {
    const { tools, task } = this;
    const { toolTimeoutMs } = this.rules;
    if (refusal !== null) {
      return calledWith(refusal, call, turn, { startedAt: new Date().toISOString(), durationMs: 0 });
    }
    if (toolTimeoutMs === null) return callTool(call, turn, tools, task.context);
    return callToolInTime(toolTimeoutMs, call, turn, tools, task.context);
  }

  private endWithAnswer({ answer, sources }: { readonly answer: string; readonly sources: readonly string[] }): void {
    this.end(endingOfAnswer(answer, sources), { answer: answer.trim(), sources });
  }

  private endAtLimits(): void {
    if (this.turnsLeft === 0) this.end("out_of_turns");
    else if (this.rules.isOverBudget(this.transcript)) this.end("out_of_budget");
  }
}

/** Returns the total known cost in US dollars. Turns with an unknown price do not count toward the limit. */
function knownCostOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, turn) => sum + (turn.costUsd ?? 0), 0);
}

function assistantMessage({ content, toolCalls, reasoning, providerState }: Completion) {
  return {
    role: "assistant" as const,
    content,
    toolCalls: [...toolCalls],
    ...definedProperties({ reasoning, providerState }),
  };
}

/** Memoized per tools array, so that providers can reuse its serialized form. */
const specsOf = memoize((tools: readonly Tool[]): readonly ToolSpec[] =>
  tools.map(({ id, description, parameters }) => ({ name: id, description, parameters })),
);

/** Returns a message to a model whose reply is neither a call nor an answer, or null if it is an answer. */
function complaintAbout(reply: Completion): string | null {
  if (reply.finishReason === "length") return CUT_OFF;
  if (reply.finishReason === "broken_call") return BROKEN_CALL;
  return reply.content.trim() === "" ? EMPTY_REPLY : null;
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
): Promise<CalledTool<ToolResult>> {
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const result = await runToolCall(call, tools, context);
  return calledWith(result, call, turn, { startedAt, durationMs: performance.now() - started });
}

/** Executes a call with a timeout. Does not wait for a tool that ignores its signal. */
async function callToolInTime(
  timeoutMs: number,
  call: ToolCall,
  turn: number,
  tools: ReadonlyMap<string, Tool>,
  context: ToolContext,
): Promise<CalledTool<CallResult>> {
  context.signal.throwIfAborted();
  const startedAt = new Date().toISOString();
  const deadline = openDeadline(context.signal, timeoutMs, () => new Error("timeout"));
  const { signal } = deadline;
  try {
    return await untilAborted(signal, () => callTool(call, turn, tools, { ...context, signal }));
  } catch (error) {
    if (!deadline.hasPassed) throw error;
    const result = { ok: false, kind: "timeout", error: `The tool took longer than ${timeoutMs / 1_000} s.` } as const;
    return calledWith(result, call, turn, { startedAt, durationMs: timeoutMs });
  } finally {
    deadline.close();
  }
}

function calledWith<R extends CallResult>(
  result: R,
  call: ToolCall,
  turn: number,
  times: Pick<ToolCallRecord, "startedAt" | "durationMs">,
): CalledTool<R> {
  const value = result.ok ? resultValue(result) : null;
  // JSON would quote text and escape its line breaks.
  const content = !result.ok ? result.error : typeof value === "string" ? value : resultJson(result);
  // To the scorers, a tool without a result in time is a tool that failed.
  const errorKind = result.ok ? null : result.kind === "timeout" ? "failed" : result.kind;
  const repairs = "repairs" in result ? result.repairs : undefined;
  return {
    result,
    message: toolMessage(call, content, !result.ok),
    record: {
      id: call.id,
      name: call.name,
      arguments: call.arguments,
      result: value,
      error: result.ok ? null : result.error,
      errorKind,
      ...definedProperties({ repairs }),
      turn,
      ...times,
    },
  };
}

function toolMessage(call: ToolCall, content: string, isError: boolean): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content, isError };
}

async function runToolCall(
  call: ToolCall,
  tools: ReadonlyMap<string, Tool>,
  context: ToolContext,
): Promise<ToolResult> {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const available = [...tools.keys()].join(", ");
    return { ok: false, kind: "unknown_tool", error: `There is no tool "${call.name}". The tools are: ${available}.` };
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
