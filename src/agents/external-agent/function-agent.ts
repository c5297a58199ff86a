// An external agent that is a function of the calling program. Its return value is checked, because it is user code.
import { z } from "zod";
import { ModelError } from "../../models/model.js";
import { scrub } from "../../models/provider-errors.js";
import { untilAborted } from "../../platform/deadline.js";
import { messageOf } from "../../platform/errors.js";
import { firstIssue, isShallow, MAX_JSON_DEPTH } from "../../platform/json.js";
import type { JsonValue } from "../../platform/json-value.js";
import type { Tool, ToolContext } from "../../tools/tool.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import type { AgentFunction, AgentFunctionTask } from "../agent-function.js";
import { callTool } from "../agent-loop.js";
import { rolloutOf, type Transcript } from "../rollout.js";
import { type Charging, recordExchange } from "./record-exchange.js";
import {
  MAX_CHARS,
  recordTurns,
  reportedCostSchema,
  reportedTurnsSchema,
  reportedUsageSchema,
  shortList,
  shortText,
} from "./reported-turns.js";

interface FunctionAgent extends Charging {
  readonly name: string;
  readonly answer: AgentFunction;
  /** Returns tools whose call context binds them to the task's mailbox. */
  toolsFor(context: ToolContext): readonly Tool[];
}

const MAX_SOURCES = 10_000;
/** Longer than any Message-ID. */
const MAX_SOURCE_CHARS = 2_000;

const answerSchema = z.object({
  answer: shortText.nullable(),
  sources: shortList(z.string().max(MAX_SOURCE_CHARS), MAX_SOURCES).optional(),
  usage: reportedUsageSchema.optional(),
  costUsd: reportedCostSchema.optional(),
  turns: reportedTurnsSchema.optional(),
});

/** Reads the function's result, which can be of any type, because it is user code. Returns a text for a problem. */
function readReturned(returned: unknown): z.output<typeof answerSchema> | string {
  const { data, error } = answerSchema.safeParse(typeof returned === "string" ? { answer: returned } : returned);
  return data ?? firstIssue(error as z.ZodError);
}

/** Lets a function of the calling program answer. Unless it reports its model calls, its whole work is one turn. */
export function functionAgent({ name, answer, toolsFor, ...charging }: FunctionAgent): AgentBackend {
  return {
    async answer(task, transcript) {
      transcript.messages.push({ role: "user", content: task.instruction });
      const began = { startedAt: new Date().toISOString(), started: performance.now() };
      const { signal } = task.context;
      const { functionTask, end } = toFunctionTask(task, transcript, toolsFor(task.context));
      // Reading the value can run code of the function, too.
      const data = await untilAborted(signal, async () => readReturned(await answer(functionTask)))
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw new ModelError("server", scrub(messageOf(error), []), { retryable: false });
        })
        .finally(end);
      if (typeof data === "string") {
        const expected = "Expected a text or { answer, sources?, usage?, costUsd?, turns? }";
        throw new ModelError("server", `The agent ${name} returned no answer: ${scrub(data, [])}. ${expected}.`, {
          retryable: false,
        });
      }
      const text = data.answer?.trim() ?? "";
      if (data.turns !== undefined && data.turns.length > 0) {
        recordTurns(transcript, data.turns, text, began, charging);
      } else {
        recordExchange(transcript, { answer: text, usage: data.usage ?? null, costUsd: data.costUsd }, began, charging);
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
  let left = MAX_CHARS;
  // Stops early, because JSON repeats an object that is used several times.
  const limited = (key: string, value: unknown) => {
    left -= key.length + (typeof value === "string" ? value.length : 1);
    if (left < 0) throw new Error(`they exceed ${MAX_CHARS} characters`);
    return value;
  };
  try {
    const copy: JsonValue = JSON.parse(JSON.stringify(args, limited) ?? "{}");
    if (isShallow(copy)) return copy;
    throw new Error(`they are nested more than ${MAX_JSON_DEPTH} levels deep`);
  } catch (error) {
    throw new Error(`Cannot call ${tool}: its arguments are not JSON: ${messageOf(error)}`);
  }
}
