import { z } from "zod";
import type { JsonObject, JsonValue } from "../json.js";
import type { Message } from "../models/conversation.js";
import type { ChatTrace } from "./chat.js";
import { type ToolCallRecord, type Trace, toolCallRecordSchema } from "./trace.js";
import { type CallStep, type Conversation, stepsOf } from "./trace-steps.js";

/** Where a format has a store of its own keys for a trace's facts, they stand under this one, as a text of JSON. */
export const FACTS_KEY = "art_e.trace";

/**
 * A trace without its messages, and its tool calls without what the messages say too: for formats that write the
 * conversation in a form of their own and have a field for what is beyond them.
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

/** The trace again, as unchecked JSON. Null where `facts` are none. */
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
    const { arguments: given = call?.call.arguments ?? {}, result = resultOf(call, resultIsText), ...rest } = record;
    return { id, name, arguments: given, result, ...rest };
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

/** The calls that were made, each with the message that asks for it and the one that has its result. */
function callsOf(trace: Conversation): CallStep[] {
  return stepsOf(trace).flatMap(({ calls }) => calls.filter(({ record }) => record !== null));
}

/** `arguments` and `result` are left out where the messages have them. */
function recordFacts(record: ToolCallRecord, { call, result }: CallStep): JsonObject {
  const { id, name, arguments: given, result: value, ...rest } = record;
  const json = JSON.stringify(given);
  // Formats write other arguments as they can, and not always in one way.
  const isRepeated = json.startsWith("{") && json === JSON.stringify(call.arguments);
  const text = result?.content;
  return {
    ...{ id, name },
    ...(isRepeated ? {} : { arguments: given }),
    ...(text === value ? { resultIsText: true } : text === JSON.stringify(value) ? {} : { result: value }),
    ...rest,
  };
}

function resultOf(call: CallStep | undefined, isText = false): JsonValue {
  const result = call?.result ?? null;
  if (result === null) return null;
  if (isText) return result.content;
  try {
    return JSON.parse(result.content) as JsonValue;
  } catch {
    return result.content;
  }
}
