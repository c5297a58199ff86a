// A trace without its messages, for formats that store the conversation in their own form.
import { z } from "zod";
import type { Message } from "../models/model.js";
import type { JsonObject, JsonValue } from "../platform/json.js";
import { type ChatTrace, type ToolCallRecord, type Trace, toolCallRecordSchema } from "./trace.js";
import { type CallStep, type Conversation, stepsOf } from "./trace-steps.js";

/** Key for a trace's facts, as a JSON string, in formats that support custom keys. */
export const FACTS_KEY = "art_e.trace";

/**
 * Returns a trace without its messages, and its tool calls without the data that the messages contain. Used for formats
 * that have their own form of conversation and a field for additional data.
 */
export function toTraceFacts(trace: Trace | ChatTrace): JsonObject {
  const paired = new Map(callsOf(trace).map((call) => [call.record, call]));
  const toolCalls = trace.toolCalls.map((record) => {
    const call = paired.get(record);
    return call === undefined ? record : recordFacts(record, call);
  });
  const { messages, ...facts } = { ...trace, toolCalls };
  return facts as JsonObject;
}

/** Restores a trace as unchecked JSON, or returns null if `facts` are invalid. */
export function fromTraceFacts(facts: unknown, messages: readonly Message[]): JsonObject | null {
  const parsed = factsSchema.safeParse(facts);
  if (!parsed.success) return null;
  const { toolCalls: records, historyLength = 0 } = parsed.data;
  const toolCalls: ToolCallRecord[] = records.map((record) => ({ ...record, arguments: {}, result: null }));
  const paired = new Map(
    callsOf({ messages: [...messages], toolCalls, turns: [], historyLength }).map((call) => [call.record, call]),
  );
  const whole = records.map(({ resultIsText, id, name, ...record }, i) => {
    const call = paired.get(toolCalls[i] ?? null);
    const { arguments: args = call?.call.arguments ?? {}, result = callResult(call, resultIsText), ...rest } = record;
    return { id, name, arguments: args, result, ...rest };
  });
  const fields = Object.entries(facts as JsonObject).flatMap(([key, value]): [string, JsonValue][] =>
    key === "toolCalls"
      ? [
          ["messages", messages as unknown as JsonValue],
          [key, whole],
        ]
      : [[key, value]],
  );
  return Object.fromEntries(fields);
}

const recordFactsSchema = toolCallRecordSchema
  .partial({ arguments: true, result: true })
  .extend({ resultIsText: z.boolean().optional() });

const factsSchema = z.looseObject({
  toolCalls: z.array(recordFactsSchema),
  historyLength: z.number().int().nonnegative().optional(),
});

function callsOf(trace: Conversation): CallStep[] {
  return stepsOf(trace).flatMap(({ calls }) => calls.filter(({ record }) => record !== null));
}

/** Leaves out `arguments` and `result` if the messages contain them. */
function recordFacts(record: ToolCallRecord, { call, result }: CallStep): JsonObject {
  const { id, name, arguments: args, result: value, ...rest } = record;
  const json = JSON.stringify(args);
  // Different formats convert other arguments differently.
  const isRepeated = json.startsWith("{") && json === JSON.stringify(call.arguments);
  const text = result?.content;
  return {
    id,
    name,
    ...(isRepeated ? {} : { arguments: args }),
    ...(text === value ? { resultIsText: true } : text === JSON.stringify(value) ? {} : { result: value }),
    ...rest,
  };
}

function callResult(call: CallStep | undefined, isText = false): JsonValue {
  const result = call?.result ?? null;
  if (result === null) return null;
  if (isText) return result.content;
  try {
    return JSON.parse(result.content) as JsonValue;
  } catch {
    return result.content;
  }
}
