import { z } from "zod";
import { ModelError, type Usage } from "../../models/model.js";
import { scrub } from "../../models/provider-errors.js";
import type { Tool, ToolContext } from "../../tools/tool.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import type { AgentFunction, AgentFunctionTask } from "../agent-function.js";
import { callTool } from "../agent-loop.js";
import { rolloutOf, type Transcript } from "../rollout.js";
import { recordExchange } from "./record-exchange.js";

interface FunctionAgent {
  readonly name: string;
  readonly answer: AgentFunction;
  /** Returns tools whose call context binds them to the task's mailbox. */
  toolsFor(context: ToolContext): readonly Tool[];
  priceOf(usage: Usage): number | null;
}

const tokens = z.number().int().nonnegative();

/** What the function returned. It is the caller's code, and may not be type-checked. */
const returnedSchema = z.union([
  z.string().transform((answer) => ({ answer, sources: undefined, usage: undefined, costUsd: undefined })),
  z.object({
    answer: z.string().nullable(),
    sources: z.array(z.string()).optional(),
    usage: z.object({ inputTokens: tokens, outputTokens: tokens, cachedInputTokens: tokens.default(0) }).optional(),
    costUsd: z.number().nonnegative().optional(),
  }),
]);

/** Lets a function of the calling program answer. Its whole work is one turn, because its model calls are unknown. */
export function functionAgent({ name, answer, toolsFor, priceOf }: FunctionAgent): AgentBackend {
  return {
    async answer(task, transcript) {
      transcript.messages.push({ role: "user", content: task.instruction });
      const began = { startedAt: new Date().toISOString(), started: performance.now() };
      const { signal } = task.context;
      const functionTask = toFunctionTask(task, transcript, toolsFor(task.context));
      const returned = await settleBefore(signal, async () => answer(functionTask)).catch((error: unknown) => {
        signal.throwIfAborted();
        const message = error instanceof Error ? error.message : String(error);
        throw new ModelError("server", scrub(message, []), { retryable: false });
      });
      const { data } = returnedSchema.safeParse(returned);
      if (data === undefined) {
        const expected = "expected a text or { answer, sources?, usage?, costUsd? }";
        throw new ModelError("server", `The agent ${name} returned no answer: ${expected}.`, { retryable: false });
      }
      const text = data.answer?.trim() ?? "";
      recordExchange(transcript, { answer: text, usage: data.usage ?? null, costUsd: data.costUsd }, began, priceOf);
      return rolloutOf(transcript, text, data.sources ?? []);
    },
  };
}

function toFunctionTask(task: AgentTask, transcript: Transcript, tools: readonly Tool[]): AgentFunctionTask {
  const { id, epoch, instruction, maxTurns, context } = task;
  const { inbox_address, query_date } = mailboxOf(task);
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  let calls = 0;
  return {
    id: id ?? "",
    epoch,
    question: instruction,
    inbox: inbox_address,
    queryDate: query_date,
    maxTurns,
    tools: tools.map(({ id: name, description, parameters }) => ({ name, description, parameters })),
    signal: context.signal,
    async callTool(toolName, args) {
      const call = { id: `call_${++calls}`, name: toolName, arguments: args };
      const { message, record, result } = await callTool(call, 0, byId, context);
      context.signal.throwIfAborted();
      transcript.messages.push({ role: "assistant", content: "", toolCalls: [call] }, message);
      transcript.toolCalls.push(record);
      if (!result.ok) throw new Error(result.error);
      return record.result;
    },
  };
}

/** Returns the work's result, or rejects with the signal's reason, because the work may ignore the signal. */
async function settleBefore<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
