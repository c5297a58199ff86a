// An external agent that is a program. It gets each task as a JSON line, and its tools over MCP.
import { randomBytes } from "node:crypto";
import { ModelError } from "../../models/model.js";
import { scrub } from "../../models/provider-errors.js";
import { reasoningUsage } from "../../models/usage.js";
import { listenMcp, type MailOffer, type McpListener, mailServer } from "../../tools/mcp-server.js";
import type { Tool, ToolContext } from "../../tools/tool.js";
import type { AgentBackend, AgentTask } from "../agent-backend.js";
import { callTool } from "../agent-loop.js";
import { rolloutOf, type Transcript } from "../rollout.js";
import type { AgentProcesses, ProgramReply } from "./command-agent-process.js";
import { type Charging, recordExchange } from "./record-exchange.js";

interface CommandAgent extends Charging {
  readonly programs: Pick<AgentProcesses, "ask">;
  /** Returns tools whose call context binds them to the task's mailbox and machine. */
  toolsFor(context: ToolContext): readonly Tool[];
  readonly version: string;
}

export interface OpenCommandAgent extends AgentBackend {
  close(): Promise<void>;
}

/**
 * Sends the task to a program and serves tools to it at a separate MCP address. The tools are bound to the task's
 * mailbox and day, or to its machine. Every call is traced, and the address closes when the program answers.
 */
export async function openCommandAgent(agent: CommandAgent): Promise<OpenCommandAgent> {
  const offers = new Map<string, MailOffer>();
  const listener = await listenMcp({
    host: "127.0.0.1",
    port: 0,
    token: null,
    serverFor(path) {
      const offer = offers.get(path);
      return offer === undefined ? null : mailServer(offer);
    },
  });
  return {
    async answer(task, transcript) {
      transcript.messages.push({ role: "user", content: task.instruction });
      const path = `/mcp/${randomBytes(18).toString("base64url")}`;
      offers.set(path, offerTo(task, transcript, agent));
      const began = { startedAt: new Date().toISOString(), started: performance.now() };
      try {
        const reply = await agent.programs.ask(toLine(task, listener, path), task.context.signal);
        takeDown(reply, transcript, began, agent);
        if (reply.error) throw new ModelError("server", reply.error, { retryable: false });
        return rolloutOf(transcript, reply.answer?.trim() ?? "", reply.sources ?? []);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        // A program's error text might contain the API key that the program received.
        throw new ModelError(error.kind, scrub(error.message, []), { retryable: false });
      } finally {
        offers.delete(path);
      }
    },
    close: () => listener.close(),
  };
}

function toLine(task: AgentTask, listener: McpListener, path: string) {
  const { id, epoch, instruction, variables, maxTurns } = task;
  return {
    id: `${id}/${epoch}`,
    ...(task.context.inbox === null ? {} : { question: instruction }),
    ...(task.context.machine === undefined ? {} : { instruction }),
    ...variables,
    max_turns: maxTurns,
    tools: { mcp: { url: `${listener.origin}${path}` } },
  };
}

function offerTo({ context }: AgentTask, transcript: Transcript, { version, toolsFor }: CommandAgent): MailOffer {
  const tools = toolsFor(context);
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  const hasMachine = context.machine !== undefined;
  let calls = 0;
  return {
    version,
    instructions: hasMachine ? "The machine of one task." : "One person's mailbox, to be searched and read.",
    tools,
    isReadOnly: !hasMachine,
    shelf: null,
    async call(name, args) {
      const call = { id: `mcp_${++calls}`, name, arguments: args };
      const { message, record, result } = await callTool(call, 0, byId, context);
      transcript.messages.push({ role: "assistant", content: "", toolCalls: [call] }, message);
      transcript.toolCalls.push(record);
      return result;
    },
  };
}

/** Adds the messages that the program reported, its answer and its usage to the transcript. */
function takeDown(
  reply: ProgramReply,
  transcript: Transcript,
  began: Parameters<typeof recordExchange>[2],
  charging: Charging,
): void {
  for (const { role, content, name } of reply.trace ?? []) {
    if (role === "assistant") transcript.messages.push({ role, content, toolCalls: [] });
    else if (role === "tool") transcript.messages.push({ role, content, name, toolCallId: "", isError: false });
    else transcript.messages.push({ role, content });
  }
  const usage = reply.usage
    ? {
        inputTokens: reply.usage.input_tokens,
        outputTokens: reply.usage.output_tokens,
        cachedInputTokens: reply.usage.cached_input_tokens,
        ...reasoningUsage(reply.usage.reasoning_tokens),
      }
    : null;
  recordExchange(
    transcript,
    { answer: reply.answer ?? "", usage, costUsd: reply.cost_usd ?? undefined },
    began,
    charging,
  );
}
