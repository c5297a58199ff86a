import { type AgentSettings, agentSettingsSchema } from "../../src/agents/agent.js";
import type { AgentTask } from "../../src/agents/agent-backend.js";
import { agentLoop } from "../../src/agents/agent-loop.js";
import type { Rollout, Transcript } from "../../src/agents/rollout.js";
import { withPrices } from "../../src/models/call-cost.js";
import type { Completion, Model, ModelRequest, ToolCall } from "../../src/models/model.js";
import type { JsonValue } from "../../src/platform/json.js";
import type { Tool } from "../../src/tools/tool.js";
import { MARCUS, never } from "../runs/demo-setup.js";

/** A model with scripted replies, and an agent's run with it. */

export interface Line extends Partial<Omit<Completion, "toolCalls">> {
  readonly toolCalls?: readonly (Omit<ToolCall, "id"> & { readonly id?: string })[];
}

export interface Scripted extends Model {
  /** The received requests, each with its messages at that time. */
  readonly requests: readonly ModelRequest[];
}

/** Replies with the lines in order, and throws a line that is an error. After the last line, throws a plain Error. */
export function scripted(lines: readonly (Line | Error)[]): Scripted {
  const requests: ModelRequest[] = [];
  return {
    id: "script/test",
    requests,
    async complete(request, signal): Promise<Completion> {
      signal.throwIfAborted();
      const turn = requests.length;
      requests.push({ ...request, messages: [...request.messages] });
      const line = lines[turn];
      if (line === undefined) throw new Error(`the script has ${lines.length} lines and was asked for more`);
      if (line instanceof Error) throw line;
      const toolCalls = (line.toolCalls ?? []).map((call, i) => ({ id: `call_${turn + 1}_${i + 1}`, ...call }));
      const finishReason = line.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop");
      const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40 };
      const rest = { rawFinishReason: finishReason, usage, latencyMs: 1, retries: [], content: "" };
      return { ...rest, ...line, finishReason, toolCalls };
    },
  };
}

export const call = (name: string, args: JsonValue = {}): Line => ({ toolCalls: [{ name, arguments: args }] });

export const finish = (answer: string, sources: readonly string[] = []): Line =>
  call("return_final_answer", { answer, sources });

/** The parts of a task and its agent that a test can change. The others have defaults. */
export interface Changes extends Partial<AgentTask> {
  readonly settings?: Partial<AgentSettings>;
  readonly maxTaskCostUsd?: number | null;
}

export const emptyTranscript = (): Transcript => ({ messages: [], toolCalls: [], turns: [] });

/** Answers the lines' script, with a price of $0.001 per output token. */
export async function roll(
  lines: readonly (Line | Error)[],
  tools: readonly Tool[],
  changes: Changes = {},
): Promise<Rollout & { readonly requests: readonly ModelRequest[] }> {
  const model = scripted(lines);
  const priced = withPrices(model, ({ outputTokens }) => outputTokens / 1000);
  return { ...(await play(priced, tools, changes)), requests: model.requests };
}

/** Has the agent loop answer a task with a model. */
export function play(
  model: Model,
  tools: readonly Tool[],
  { settings = {}, maxTaskCostUsd = null, ...changes }: Changes = {},
  transcript = emptyTranscript(),
): Promise<Rollout> {
  const agent = { prompt: "You answer from a mailbox.", settings: agentSettingsSchema.parse(settings) };
  const task: AgentTask = {
    id: 1,
    epoch: 1,
    instruction: "How much are the dues?",
    variables: {},
    maxTurns: agent.settings.maxTurns,
    context: { inbox: MARCUS, cutoff: null, signal: never },
    ...changes,
  };
  return agentLoop({ agent, model, tools, limits: { maxTaskCostUsd } }).answer(task, transcript);
}
