import type { Rollout } from "../../src/agents/agent.js";
import { type AgentRun, newTranscript, runAgent } from "../../src/agents/agent-loop.js";
import type { Completion, Model, ModelRequest, ToolCall } from "../../src/models/model.js";
import { withPrices } from "../../src/models/prices.js";
import type { JsonValue } from "../../src/platform/json.js";
import { type AgentSettings, agentSettingsSchema, type Tool } from "../../src/tools/tool.js";
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

/** The parts of a run that a test can change. The others have defaults. */
export interface Changes extends Partial<Omit<AgentRun, "settings">> {
  readonly settings?: Partial<AgentSettings>;
}

export async function roll(
  lines: readonly (Line | Error)[],
  tools: readonly Tool[],
  changes: Changes = {},
): Promise<Rollout & { readonly requests: readonly ModelRequest[] }> {
  const model = scripted(lines);
  const run = agentRun(
    withPrices(model, ({ outputTokens }) => outputTokens / 1000),
    tools,
    changes,
  );
  return { ...(await runAgent(run, newTranscript(run))), requests: model.requests };
}

export function agentRun(model: Model, tools: readonly Tool[], changes: Changes = {}): AgentRun {
  return {
    model,
    tools,
    system: "You answer from a mailbox.",
    question: "How much are the dues?",
    context: { inbox: MARCUS, cutoff: null, signal: never },
    maxCostUsd: null,
    ...changes,
    settings: agentSettingsSchema.parse(changes.settings ?? {}),
  };
}
