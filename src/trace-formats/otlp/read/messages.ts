// The conversation of a model call in each supported convention:
// - OpenTelemetry GenAI: https://github.com/open-telemetry/semantic-conventions-genai
// - OpenInference: https://arize-ai.github.io/openinference/spec/content/messages.html
// - Vercel AI SDK: https://ai-sdk.dev/docs/ai-sdk-core/telemetry
// - GenAI conventions up to 1.36, whose messages are events, and Logfire
// - Langfuse's SDK: `langfuse.observation.input`, ...
// - LangSmith: `gen_ai.prompt`, ..., also with LangChain's messages
// - OpenLLMetry (Traceloop): `gen_ai.prompt.0.role`, ...
import { z } from "zod";
import type { Message, ToolCall } from "../../../models/model.js";
import { isJsonObject, type JsonValue, jsonValueSchema } from "../../../platform/json.js";
import { reasoningField } from "../../imported-trace.js";
import { type AttributeMap, itemsOf, jsonOf, jsonOrText, textOf } from "./attributes.js";
import type { ReadSpan } from "./spans.js";

/** The messages sent to a model, with its system prompt first, and its reply. Tool messages do not have names yet. */
export interface Conversation {
  readonly input: readonly Message[];
  readonly output: readonly Message[];
}

type Convention = (span: ReadSpan) => Conversation;

interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly reasoning: readonly (string | undefined)[];
  readonly calls: readonly ToolCall[];
  readonly callId?: string | undefined;
  readonly name?: string | undefined;
}

const partSchema = z.looseObject({
  type: z.string(),
  content: z.unknown().optional(),
  id: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  response: z.unknown().optional(),
  result: z.unknown().optional(),
});

type Part = z.output<typeof partSchema>;

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

const partsMessagesSchema = z.array(z.looseObject({ role: z.string(), parts: z.array(partSchema) }));

function genAi({ attributes }: ReadSpan): Conversation {
  const system = jsonOf(attributes, "gen_ai.system_instructions", z.array(partSchema));
  const messages = (key: string) => (jsonOf(attributes, key, partsMessagesSchema) ?? []).flatMap(fromParts);
  const input = messages("gen_ai.input.messages");
  return {
    input: system === undefined ? input : [{ role: "system", content: textOfParts(system) }, ...input],
    output: messages("gen_ai.output.messages"),
  };
}

function fromParts({ role, parts }: z.output<typeof partsMessagesSchema>[number]): Message[] {
  const content = textOfParts(parts);
  if (role === "assistant") {
    return [
      {
        role,
        content,
        toolCalls: parts.flatMap(({ type, id, name, arguments: args }) =>
          type === "tool_call" ? [toolCall(id, name, args)] : [],
        ),
        ...reasoningField(parts.map(({ type, content: text }) => (type === "reasoning" ? asText(text) : ""))),
      },
    ];
  }
  const results = parts.flatMap((part) =>
    part.type === "tool_call_response" ? [toolMessage(part.id, part.response ?? part.result, part.name)] : [],
  );
  if (results.length > 0) return results;
  return role === "tool" ? [] : [{ role: isSystem(role) ? "system" : "user", content }];
}

function textOfParts(parts: readonly Part[]): string {
  return parts
    .flatMap(({ type, content }) => (type === "text" && typeof content === "string" ? [content] : []))
    .join("");
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
  return fromChat({
    role: textOf(message, "message.role") ?? "",
    content: textOf(message, "message.content") ?? textsOfType("text").join(""),
    reasoning: [
      ...textsOfType("reasoning", "thinking"),
      textOf(message, "message.reasoning_content", "message.reasoning"),
    ],
    calls:
      functionName === undefined
        ? calls
        : [...calls, toolCall("", functionName, textOf(message, "message.function_call_arguments_json"))],
    callId: textOf(message, "message.tool_call_id"),
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

const chatPartsSchema = z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).min(1);

/** OpenLLMetry writes content with several parts as a JSON string. */
function textOfJsonParts(content: string): string {
  if (!content.startsWith("[")) return content;
  const parts = chatPartsSchema.safeParse(jsonOrText(content));
  return parts.success
    ? parts.data.flatMap(({ type, text = "" }) => (type === "text" ? [text] : [])).join("")
    : content;
}

const unknownText = z.string().optional().catch(undefined);

const vercelPartSchema = z.looseObject({
  type: z.string(),
  text: unknownText,
  toolCallId: unknownText,
  toolName: unknownText,
  input: z.unknown().optional(),
  args: z.unknown().optional(),
  output: z.unknown().optional(),
  result: z.unknown().optional(),
  isError: z.boolean().optional().catch(undefined),
});

const vercelMessagesSchema = z.array(
  z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(vercelPartSchema)]) }),
);

const vercelCallsSchema = z.array(
  z.looseObject({
    toolCallId: unknownText,
    toolName: unknownText,
    input: z.unknown().optional(),
    args: z.unknown().optional(),
  }),
);

const vercelPromptSchema = z.looseObject({
  system: unknownText,
  prompt: z.union([z.string(), vercelMessagesSchema]).optional().catch(undefined),
  messages: vercelMessagesSchema.optional().catch(undefined),
});

function vercel({ attributes }: ReadSpan): Conversation {
  const prompt = jsonOf(attributes, "ai.prompt", vercelPromptSchema);
  const promptList = jsonOf(attributes, "ai.prompt.messages", vercelMessagesSchema) ?? promptMessages(prompt);
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
  return { input: promptList.flatMap(fromVercel), output: hasReply ? [reply] : [] };
}

function vercelCalls(attributes: AttributeMap) {
  const key = ["ai.response.toolCalls", "ai.result.toolCalls"].find((each) => attributes.has(each));
  return key === undefined ? undefined : jsonOf(attributes, key, vercelCallsSchema);
}

function promptMessages(prompt: z.output<typeof vercelPromptSchema> = {}): z.output<typeof vercelMessagesSchema> {
  const { system, prompt: question, messages } = prompt;
  const conversation =
    messages ?? (typeof question === "string" ? [{ role: "user", content: question }] : (question ?? []));
  return system === undefined ? conversation : [{ role: "system", content: system }, ...conversation];
}

function fromVercel({ role, content }: z.output<typeof vercelMessagesSchema>[number]): Message[] {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const textsOfType = (partType: string) => parts.flatMap(({ type, text = "" }) => (type === partType ? [text] : []));
  const [calls, results] = ["tool-call", "tool-result"].map((partType) =>
    parts.filter(({ type }) => type === partType),
  ) as [z.output<typeof vercelPartSchema>[], z.output<typeof vercelPartSchema>[]];
  const ownMessages =
    role === "tool"
      ? []
      : fromChat({
          role,
          content: textsOfType("text").join(""),
          reasoning: textsOfType("reasoning"),
          calls: calls.map(({ toolCallId, toolName, input, args }) => toolCall(toolCallId, toolName, input ?? args)),
        });
  // For tools executed by the provider, the assistant's message contains the results.
  return [...ownMessages, ...results.map(vercelResult)];
}

const vercelOutputSchema = z.looseObject({
  type: z.enum(["text", "json", "error-text", "error-json", "content", "execution-denied"]),
  value: z.unknown().optional(),
  reason: unknownText,
});

/** AI SDK 5 and later wrap results in an `output` that states its type. */
function vercelResult({ toolCallId, toolName, output, result, isError }: z.output<typeof vercelPartSchema>): Message {
  const typed = vercelOutputSchema.safeParse(output).data;
  if (typed === undefined) return toolMessage(toolCallId, output ?? result, toolName, isError);
  const failed = typed.type.startsWith("error") || typed.type === "execution-denied";
  const parts = typed.type === "content" ? chatPartsSchema.safeParse(typed.value).data : undefined;
  const value = parts?.map(({ text = "" }) => text).join("") ?? typed.value ?? typed.reason ?? "";
  return toolMessage(toolCallId, value, toolName, failed);
}

const chatSchema = z.array(
  z.looseObject({
    role: z.string(),
    content: z.union([z.string(), chatPartsSchema]).nullish().catch(null),
    reasoning_content: unknownText,
    tool_calls: z
      .array(
        z.looseObject({
          id: unknownText,
          function: z.looseObject({ name: unknownText, arguments: z.unknown().optional() }),
        }),
      )
      .nullish()
      .catch(null),
    tool_call_id: unknownText,
    name: unknownText,
  }),
);

const chatInputSchema = z.union([
  z.looseObject({ messages: chatSchema }).transform(({ messages }) => messages),
  chatSchema,
]);

const chatOutputSchema = z
  .union([
    z
      .looseObject({ choices: z.array(z.looseObject({ message: z.unknown() })).min(1) })
      .transform(({ choices }) => choices.map(({ message }) => message)),
    z.looseObject({ message: z.looseObject({}) }).transform(({ message }) => [message]),
    z.looseObject({ role: z.string() }).transform((message) => [message]),
    z.array(z.unknown()),
  ])
  .pipe(chatSchema);

const eventMessageSchema = z.looseObject({ role: z.string().optional(), id: unknownText });

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
    const [, kind] = /^gen_ai\.(?:(system|user|assistant|tool)\.message|choice)$/.exec(name) ?? [];
    if (kind === undefined && name !== "gen_ai.choice") continue;
    const inner =
      kind === undefined && isJsonObject((fields as { message?: JsonValue }).message)
        ? (fields as { message: JsonValue }).message
        : fields;
    const message = eventMessageSchema.safeParse(inner).data ?? {};
    const parsed =
      chatSchema.safeParse([{ tool_call_id: message.id, ...message, role: message.role ?? kind ?? "assistant" }])
        .data ?? [];
    conversation[kind === undefined ? "output" : "input"].push(...parsed.flatMap(fromCompletion));
  }
  return conversation;
}

const LANGCHAIN_ROLES: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };

const langChainSchema = z.looseObject({
  kwargs: z.looseObject({
    type: z.string(),
    tool_calls: z
      .array(z.object({ id: unknownText, name: unknownText, args: z.unknown() }))
      .catch([])
      .transform((calls) => calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args } }))),
  }),
});

/** Converts LangChain's messages, which are in lists of lists and have a type instead of a role. */
function fromLangChain(value: unknown): unknown {
  if (Array.isArray(value)) return value.flat().map(fromLangChain);
  const message = langChainSchema.safeParse(value).data?.kwargs;
  if (message !== undefined) return { ...message, role: LANGCHAIN_ROLES[message.type] ?? message.type };
  const { messages, generations, message: inner } = z.looseObject({}).safeParse(value).data ?? {};
  if (messages !== undefined) return { messages: fromLangChain(messages) };
  return generations === undefined && inner === undefined ? value : fromLangChain(generations ?? inner);
}

/** The request and reply as JSON, or any text: OpenInference's plain values, Langfuse's SDK, Logfire and LangSmith. */
function plainValues({ attributes }: ReadSpan): Conversation {
  const input = textOf(attributes, "input.value", "langfuse.observation.input", "request_data", "gen_ai.prompt");
  const output = textOf(
    attributes,
    "output.value",
    "langfuse.observation.output",
    "response_data",
    "gen_ai.completion",
  );
  const valueIn = (text: string) => fromLangChain(jsonOrText(text));
  const request = input === undefined ? undefined : chatInputSchema.safeParse(valueIn(input)).data;
  const reply = output === undefined ? undefined : chatOutputSchema.safeParse(valueIn(output)).data;
  return {
    input: request?.flatMap(fromCompletion) ?? (input ? [{ role: "user", content: input }] : []),
    output: reply?.flatMap(fromCompletion) ?? (output ? [{ role: "assistant", content: output, toolCalls: [] }] : []),
  };
}

function fromCompletion(message: z.output<typeof chatSchema>[number]): Message[] {
  const { role, content, tool_calls, tool_call_id, name, reasoning_content } = message;
  const parts = typeof content === "string" ? content : (content ?? []).flatMap(({ text = "" }) => [text]).join("");
  return fromChat({
    role,
    content: parts,
    reasoning: [reasoning_content],
    callId: tool_call_id,
    name,
    calls: (tool_calls ?? []).map(({ id, function: functionCall }) =>
      toolCall(id, functionCall.name, functionCall.arguments),
    ),
  });
}

const CONVENTIONS: readonly Convention[] = [genAi, openInference, vercel, flattenedGenAi, messageEvents, plainValues];

const ASSISTANT_ROLES: ReadonlySet<string> = new Set(["assistant", "ai", "model"]);
const TOOL_ROLES: ReadonlySet<string> = new Set(["tool", "function"]);

function fromChat({ role, content, reasoning, calls, callId, name }: ChatMessage): Message[] {
  if (TOOL_ROLES.has(role)) return [toolMessage(callId, content, name)];
  if (ASSISTANT_ROLES.has(role) || calls.length > 0) {
    return [{ role: "assistant", content, toolCalls: [...calls], ...reasoningField(reasoning) }];
  }
  return [{ role: isSystem(role) ? "system" : "user", content }];
}

function isSystem(role: string): boolean {
  return role === "system" || role === "developer";
}

/** Arguments are an object, or JSON in a string. A string that is not a JSON object makes the call invalid. */
function toolCall(id: string | null | undefined, name: string | undefined, input: unknown): ToolCall {
  const call = { id: id ?? "", name: name ?? "" };
  if (typeof input !== "string") return { ...call, arguments: jsonValueSchema.safeParse(input ?? {}).data ?? {} };
  const value: JsonValue = input.trim() === "" ? {} : jsonOrText(input);
  return isJsonObject(value) ? { ...call, arguments: value } : { ...call, arguments: {}, invalid: input };
}

function toolMessage(id: string | null | undefined, result: unknown, name = "", isError = false): Message {
  return { role: "tool", toolCallId: id ?? "", name, content: asText(result), isError };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
