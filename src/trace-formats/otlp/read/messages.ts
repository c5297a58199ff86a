// The conversation of a model call in each supported convention:
// - OpenTelemetry GenAI: https://github.com/open-telemetry/semantic-conventions-genai
// - OpenInference: https://arize-ai.github.io/openinference/spec/content/messages.html
// - Vercel AI SDK: https://ai-sdk.dev/docs/ai-sdk-core/telemetry
// - GenAI conventions up to 1.36, whose messages are events, and Logfire
// - Langfuse's SDK: `langfuse.observation.input`, ...
// - LangSmith: `gen_ai.prompt`, ..., also with LangChain's messages
// - Sentry, MLflow, Pydantic AI, and Google's ADK, in their own attributes
// - OpenLLMetry (Traceloop): `gen_ai.prompt.0.role`, ...
import { z } from "zod";
import type { Message } from "../../../models/model.js";
import type { JsonValue } from "../../../platform/json.js";
import { reasoningField } from "../../imported-trace.js";
import { fromChat, messagesIn, toolCall } from "./any-messages.js";
import { type AttributeMap, itemsOf, jsonIn, jsonOf, jsonOrText, textOf } from "./attributes.js";
import type { ReadSpan } from "./spans.js";

/** The messages sent to a model, with its system prompt first, and its reply. Tool messages do not have names yet. */
export interface Conversation {
  readonly input: readonly Message[];
  readonly output: readonly Message[];
}

type Convention = (span: ReadSpan) => Conversation;

/** Returns the conversation in the first convention that the span uses. */
export function conversationOf(span: ReadSpan): Conversation {
  const read = CONVENTIONS.map((convention) => convention(span));
  const first = (side: keyof Conversation) => read.map((each) => each[side]).find(saysSomething) ?? [];
  return { input: first("input"), output: first("output") };
}

function saysSomething(messages: readonly Message[]): boolean {
  return messages.some(
    (message) => message.content !== "" || (message.role === "assistant" && message.toolCalls.length > 0),
  );
}

/** The attributes of a span and of its events, where some writers put the messages. */
function allAttributes({ attributes, events }: ReadSpan): AttributeMap {
  return new Map([...events.flatMap((event) => [...event.attributes]), ...attributes]);
}

/** Also reads Sentry's names. */
function genAi(span: ReadSpan): Conversation {
  const all = allAttributes(span);
  const system = messagesIn(jsonIn(all, "gen_ai.system_instructions"), "system");
  const input = messagesIn(jsonIn(all, "gen_ai.input.messages", "gen_ai.request.messages"), "user");
  const output = messagesIn(jsonIn(all, "gen_ai.output.messages", "gen_ai.response.text"), "assistant");
  return { input: [...system, ...input], output };
}

function openInference({ attributes }: ReadSpan): Conversation {
  const messages = (key: string) => itemsOf(attributes, key).flatMap(fromOpenInference);
  return { input: messages("llm.input_messages"), output: messages("llm.output_messages") };
}

function fromOpenInference(message: AttributeMap): Message[] {
  const parts = itemsOf(message, "message.contents").map((part) => ({
    type: textOf(part, "message_content.type") ?? "text",
    text: textOf(part, "message_content.text") ?? "",
  }));
  const textsOfType = (...types: readonly string[]) =>
    parts.filter(({ type }) => types.includes(type)).map(({ text }) => text);
  const calls = itemsOf(message, "message.tool_calls").map((call) =>
    toolCall(
      textOf(call, "tool_call.id"),
      textOf(call, "tool_call.function.name"),
      textOf(call, "tool_call.function.arguments"),
    ),
  );
  const functionName = textOf(message, "message.function_call_name");
  const callId = textOf(message, "message.tool_call_id");
  return fromChat({
    // Anthropic's API returns results in messages of the user.
    role: callId === undefined ? (textOf(message, "message.role") ?? "") : "tool",
    content: textOf(message, "message.content") ?? textsOfType("text").join(""),
    reasoning: [
      ...textsOfType("reasoning", "thinking"),
      textOf(message, "message.reasoning_content", "message.reasoning"),
    ],
    calls:
      functionName === undefined
        ? calls
        : [...calls, toolCall("", functionName, textOf(message, "message.function_call_arguments_json"))],
    callId,
    name: textOf(message, "message.name"),
  });
}

/**
 * Reads the flattened messages in spans from OpenLLMetry, and in spans that follow the GenAI conventions before 1.28.
 */
function flattenedGenAi({ attributes }: ReadSpan): Conversation {
  const messages = (key: string, missingRole: string) =>
    itemsOf(attributes, key).flatMap((message) =>
      fromChat({
        role: textOf(message, "role") ?? missingRole,
        content: textOfJsonParts(textOf(message, "content") ?? ""),
        reasoning: [textOf(message, "reasoning")],
        calls: itemsOf(message, "tool_calls").map((call) =>
          toolCall(textOf(call, "id"), textOf(call, "name"), textOf(call, "arguments")),
        ),
        callId: textOf(message, "tool_call_id"),
        name: textOf(message, "name"),
      }),
    );
  return { input: messages("gen_ai.prompt", "user"), output: messages("gen_ai.completion", "assistant") };
}

/** OpenLLMetry writes content with several parts as a JSON string. */
function textOfJsonParts(content: string): string {
  if (!content.startsWith("[")) return content;
  const value = jsonOrText(content);
  const [message] = Array.isArray(value) ? messagesIn({ role: "user", content: value }, "user") : [];
  return message?.content || content;
}

const unknownText = z.string().optional().catch(undefined);

const vercelCallsSchema = z.array(
  z.looseObject({
    toolCallId: unknownText,
    toolName: unknownText,
    input: z.unknown().optional(),
    args: z.unknown().optional(),
  }),
);

function vercel({ attributes }: ReadSpan): Conversation {
  const calls = vercelCalls(attributes) ?? [];
  const content = textOf(attributes, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object");
  const reasoning = textOf(attributes, "ai.response.reasoning");
  const hasReply = content !== undefined || calls.length > 0 || reasoning !== undefined;
  const reply: Message = {
    role: "assistant",
    content: content ?? "",
    toolCalls: calls.map(({ toolCallId, toolName, input, args }) => toolCall(toolCallId, toolName, input ?? args)),
    ...reasoningField([reasoning]),
  };
  return {
    input: messagesIn(jsonIn(attributes, "ai.prompt.messages", "ai.prompt"), "user"),
    output: hasReply ? [reply] : [],
  };
}

function vercelCalls(attributes: AttributeMap) {
  const key = ["ai.response.toolCalls", "ai.result.toolCalls"].find((each) => attributes.has(each));
  return key === undefined ? undefined : jsonOf(attributes, key, vercelCallsSchema);
}

const eventListSchema = z.array(z.looseObject({ "event.name": z.string() }));

/**
 * Messages as events, in the GenAI conventions 1.27 to 1.36: events of the span with JSON or attributes, or a list of
 * events in an attribute (Logfire).
 */
function messageEvents({ attributes, events }: ReadSpan): Conversation {
  const listed = (jsonOf(attributes, "events", eventListSchema) ?? []).map(({ "event.name": name, ...fields }) => ({
    name,
    fields,
  }));
  const own = events.map(({ name, attributes: of }) => ({
    name,
    fields:
      jsonOf(of, "gen_ai.event.content", z.looseObject({})) ??
      Object.fromEntries(
        [...of].map(([key, value]) => [
          key,
          typeof value === "string" && /^[[{]/.test(value) ? jsonOrText(value) : value,
        ]),
      ),
  }));
  const conversation: { input: Message[]; output: Message[] } = { input: [], output: [] };
  for (const { name, fields } of [...own, ...listed]) {
    const { message, content, id, ...others } = fields as { readonly [key: string]: JsonValue };
    const [, kind] = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name) ?? [];
    if (name === "gen_ai.choice")
      conversation.output.push(...messagesIn(message ?? { ...others, content: content ?? null }, "assistant"));
    else if (kind !== undefined) {
      const own = {
        role: kind,
        content: content ?? null,
        ...others,
        ...(typeof id === "string" ? { tool_call_id: id } : {}),
      };
      conversation.input.push(...messagesIn(own, kind));
    }
  }
  return conversation;
}

/** The request and reply as JSON or text: OpenInference's values, Langfuse, Logfire, LangSmith, MLflow and ADK. */
function plainValues(span: ReadSpan): Conversation {
  const all = allAttributes(span);
  const read = (role: string, ...keys: readonly string[]) => {
    const text = textOf(all, ...keys);
    const messages = text === undefined ? [] : messagesIn(jsonOrText(text), role);
    return messages.length > 0 || !text ? messages : fromChat({ role, content: text, reasoning: [], calls: [] });
  };
  return {
    input: read("user", ...INPUT_VALUES),
    output: read("assistant", ...OUTPUT_VALUES),
  };
}

const INPUT_VALUES = [
  "input.value",
  "llm.input_messages",
  "langfuse.observation.input",
  "request_data",
  "gen_ai.prompt",
  "gcp.vertex.agent.llm_request",
  "mlflow.spanInputs",
];

const OUTPUT_VALUES = [
  "output.value",
  "llm.output_messages",
  "langfuse.observation.output",
  "response_data",
  "gen_ai.completion",
  "gcp.vertex.agent.llm_response",
  "mlflow.spanOutputs",
];

/** The whole conversation on the span of an agent (Pydantic AI). */
function wholeConversation({ attributes }: ReadSpan): Conversation {
  const all = messagesIn(jsonIn(attributes, "pydantic_ai.all_messages", "all_messages_events"), "user");
  const end = all.at(-1)?.role === "assistant" ? all.length - 1 : all.length;
  return { input: all.slice(0, end), output: all.slice(end) };
}

const CONVENTIONS: readonly Convention[] = [
  genAi,
  openInference,
  vercel,
  flattenedGenAi,
  messageEvents,
  wholeConversation,
  plainValues,
];
