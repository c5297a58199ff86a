// An external agent that is a function of the calling program. Its return value is checked, because it is user code.
import { z } from "zod";
import { ModelError } from "../../models/model.js";
import { scrub } from "../../models/provider-errors.js";
import type { Usage } from "../../models/usage.js";
import { untilAborted } from "../../platform/deadline.js";
import type { JsonValue } from "../../platform/json-value.js";
import type { Tool, ToolContext } from "../../tools/tool.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import type { AgentFunction, AgentFunctionTask } from "../agent-function.js";
import { callTool } from "../agent-loop.js";
import { rolloutOf, type Transcript } from "../rollout.js";
import { recordExchange } from "./record-exchange.js";
import { recordTurns, reportedTurnsSchema, reportedUsageSchema } from "./reported-turns.js";

interface FunctionAgent {
  readonly name: string;
  readonly answer: AgentFunction;
  /** Returns tools whose call context binds them to the task's mailbox. */
  toolsFor(context: ToolContext): readonly Tool[];
  priceOf(usage: Usage): number | null;
}

/** Characters of each text from the function. Scoring a longer answer takes minutes. */
const MAX_CHARS = 1_000_000;
const MAX_SOURCES = 10_000;

const shortText = z.string().max(MAX_CHARS);

/** Checked before its items, because checking a million of them blocks the event loop. */
const listOfTexts = z
  .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_SOURCES)
  .pipe(z.array(shortText));

/** The function's result. It is user code, so the value may have any type. */
const returnedSchema = z.union([
  shortText.transform((answer) => ({
    answer,
    sources: undefined,
    usage: undefined,
    costUsd: undefined,
    turns: undefined,
  })),
  z.object({
    answer: shortText.nullable(),
    sources: listOfTexts.optional(),
    usage: reportedUsageSchema.optional(),
    costUsd: z.number().nonnegative().optional(),
    turns: reportedTurnsSchema.optional(),
  }),
]);

/** Lets a function of the calling program answer. Unless it reports its model calls, its whole work is one turn. */
export function functionAgent({ name, answer, toolsFor, priceOf }: FunctionAgent): AgentBackend {
  return {
    async answer(task, transcript) {
      transcript.messages.push({ role: "user", content: task.instruction });
      const began = { startedAt: new Date().toISOString(), started: performance.now() };
      const { signal } = task.context;
      const { functionTask, end } = toFunctionTask(task, transcript, toolsFor(task.context));
      // Reading the value can run code of the function, too.
      const { data } = await untilAborted(signal, async () => returnedSchema.safeParse(await answer(functionTask)))
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw new ModelError("server", scrub(messageOf(error), []), { retryable: false });
        })
        .finally(end);
      if (data === undefined) {
        const expected = `expected a text or { answer, sources?, usage?, costUsd?, turns? }, with at most ${MAX_CHARS} characters per text and ${MAX_SOURCES} sources`;
        throw new ModelError("server", `The agent ${name} returned no answer: ${expected}.`, { retryable: false });
      }
      const text = data.answer?.trim() ?? "";
      if (data.turns !== undefined && data.turns.length > 0) {
        recordTurns(transcript, data.turns, text, began, priceOf);
      } else {
        recordExchange(transcript, { answer: text, usage: data.usage ?? null, costUsd: data.costUsd }, began, priceOf);
      }
      return rolloutOf(transcript, text, data.sources ?? []);
    },
  };
}

/**
 * Returns the task for the function, and a function that ends it. The task shares no object with the transcript or the
 * tools, because the function may change what it receives.
 */
function toFunctionTask(task: AgentTask, transcript: Transcript, tools: readonly Tool[]) {
  const { id, epoch, instruction, maxTurns, context } = task;
  const { inbox_address, query_date } = mailboxOf(task);
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  let calls = 0;
  let hasEnded = false;
  const checkEnded = (tool: string) => {
    if (hasEnded) throw new Error(`Cannot call ${tool}: the task has ended.`);
  };
  const functionTask: AgentFunctionTask = {
    id: id ?? "",
    epoch,
    question: instruction,
    inbox: inbox_address,
    queryDate: query_date,
    maxTurns,
    tools: structuredClone(tools.map(({ id: name, description, parameters }) => ({ name, description, parameters }))),
    signal: context.signal,
    async callTool(toolName, args) {
      const name = String(toolName);
      if (name.length > MAX_CHARS) throw new Error(`Cannot call a tool: its name exceeds ${MAX_CHARS} characters.`);
      checkEnded(name);
      context.signal.throwIfAborted();
      const call = { id: `call_${++calls}`, name, arguments: jsonArguments(name, args) };
      const { message, record, result } = await callTool(call, 0, byId, context).finally(() => checkEnded(name));
      context.signal.throwIfAborted();
      transcript.messages.push({ role: "assistant", content: "", toolCalls: [call] }, message);
      transcript.toolCalls.push(record);
      if (!result.ok) throw new Error(result.error);
      return structuredClone(record.result);
    },
  };
  return {
    functionTask,
    end() {
      hasEnded = true;
    },
  };
}

/** Returns a copy of the arguments as JSON. Throws an error for the function if they are not JSON, such as a BigInt. */
function jsonArguments(tool: string, args: unknown): JsonValue {
  let json: string | undefined;
  try {
    json = JSON.stringify(args) ?? "{}";
  } catch (error) {
    throw new Error(`Cannot call ${tool}: its arguments are not JSON: ${messageOf(error)}`);
  }
  if (json.length > MAX_CHARS) throw new Error(`Cannot call ${tool}: its arguments exceed ${MAX_CHARS} characters.`);
  return JSON.parse(json);
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  try {
    return String(error);
  } catch {
    return "an error without a message";
  }
}
