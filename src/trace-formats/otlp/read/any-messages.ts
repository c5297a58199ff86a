// Reads messages from JSON that a program records as it received it: requests and replies of the chat completions, the
// Responses API, Anthropic, Gemini, Bedrock, the AI SDK and LangChain, the parts of the GenAI conventions, or any text.
import type { Message, ToolCall } from "../../../models/model.js";
import { isJsonObject, type JsonObject, type JsonValue, jsonValueSchema } from "../../../platform/json.js";
import { reasoningField } from "../../imported-trace.js";
import { jsonOrText } from "./attributes.js";

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
  readonly reasoning: readonly (string | undefined)[];
  readonly calls: readonly ToolCall[];
  readonly callId?: string | undefined;
  readonly name?: string | undefined;
}

/** Fields that contain the messages of a request or a reply. The first one in a value counts. */
const WRAPPERS = ["messages", "contents", "choices", "candidates", "generations", "message", "prompts", "prompt"];
/** The same, but tools have these fields too. */
const PLAIN_WRAPPERS = ["input", "output"];

const SYSTEM_FIELDS = ["system", "instructions", "systemInstruction", "system_instruction"];

/** Deeper than the messages of any API. */
const MAX_DEPTH = 10;

/** Returns the messages in a value of any form. `role` is the role of text without one. */
export function messagesIn(value: JsonValue | undefined, role: string, depth = 0): Message[] {
  if (typeof value === "string") return value.trim() === "" ? [] : fromChat({ ...PLAIN, role, content: value });
  if (Array.isArray(value)) {
    const isOneMessage = value.length > 0 && value.every(isPart);
    return isOneMessage
      ? messageOf({ content: value }, role)
      : value.flatMap((one) => messagesIn(one, role, depth + 1));
  }
  if (!isJsonObject(value) || depth > MAX_DEPTH) return [];
  if (roleOf(value) !== undefined) return messageOf(value, role);
  if (isPart(value)) return messageOf({ content: [value] }, role);
  // LangChain writes a message as the name of its class and its arguments.
  if (isJsonObject(value.kwargs)) return messageOf({ type: classOf(value), ...value.kwargs }, role);
  const wrapper = [...WRAPPERS, ...PLAIN_WRAPPERS].find((name) => value[name] != null);
  if (wrapper !== undefined) {
    // Google's SDK has the system prompt in its settings.
    const settings = isJsonObject(value.config) ? value.config : {};
    const system = SYSTEM_FIELDS.flatMap((name) => messagesIn(value[name] ?? settings[name], "system", depth + 1));
    return [...system, ...messagesIn(value[wrapper], role, depth + 1)];
  }
  return isJsonObject(value.content) ? messagesIn(value.content, role, depth + 1) : messageOf(value, role);
}

const PLAIN = { reasoning: [], calls: [] };

const ROLES: ReadonlyMap<string, string> = new Map([
  ...["user", "human"].map((name) => [name, "user"] as const),
  ...["assistant", "ai", "model", "aimessagechunk"].map((name) => [name, "assistant"] as const),
  ...["system", "developer"].map((name) => [name, "system"] as const),
  ...["tool", "function"].map((name) => [name, "tool"] as const),
]);

/** Returns the role of a message. LangChain's messages have a type instead. */
function roleOf({ role, type }: JsonObject): string | undefined {
  if (typeof role === "string") return ROLES.get(role.toLowerCase()) ?? role;
  return typeof type === "string" && type !== "function" ? ROLES.get(type.toLowerCase()) : undefined;
}

/** Returns LangChain's type for `[..., "HumanMessage"]`. */
function classOf({ id }: JsonObject): string {
  const name = Array.isArray(id) ? String(id.at(-1) ?? "") : "";
  return name.replace(/Message(?:Chunk)?$/, "").toLowerCase();
}

function messageOf(message: JsonObject, ownRole: string): Message[] {
  const role = roleOf(message) ?? ownRole;
  const content = message.content ?? message.parts ?? message.text ?? message.refusal ?? null;
  const parts = Array.isArray(content) ? content : [content];
  const calls = [message.tool_calls, message.toolCalls, message.function_call].flatMap((list) => list ?? []);
  const results = parts.flatMap((part) => resultOf(part) ?? []);
  const text = parts.map(textOfPart).join("");
  const callId = idIn(message, "tool_call_id", "toolCallId", "id");
  if (role === "tool")
    return results.length > 0 ? results : [toolMessage(callId, text || asValue(content), nameOf(message))];
  const own = fromChat({
    role,
    content: text,
    reasoning: [...parts.map(reasoningOfPart), textIn(message.reasoning_content), textIn(message.reasoning)],
    calls: [...parts.filter((part) => resultOf(part) === null), ...calls].flatMap((part) => callOf(part) ?? []),
  });
  // For tools executed by the provider, the assistant's message contains the results.
  const isResult = role !== "assistant" && text === "" && results.length > 0;
  return isResult ? results : role === "assistant" ? [...own, ...results] : [...results, ...own];
}

function isPart(value: JsonValue): boolean {
  if (!isJsonObject(value) || roleOf(value) !== undefined || value.message !== undefined) return false;
  return (
    textOfPart(value) !== "" || reasoningOfPart(value) !== "" || callOf(value) !== null || resultOf(value) !== null
  );
}

const REASONING = /^(?:reasoning|thinking|thought)/;

function textOfPart(part: JsonValue): string {
  if (typeof part === "string") return part;
  if (!isJsonObject(part) || part.thought === true) return "";
  const { type = "text", text, content } = part;
  if (typeof type !== "string" || !/^(?:(?:input|output)_)?text$|^refusal$/.test(type)) return "";
  return textIn(text) || textIn(content) || textIn(part.refusal);
}

function reasoningOfPart(part: JsonValue): string {
  if (!isJsonObject(part)) return "";
  if (part.thought === true) return textIn(part.text);
  const { type } = part;
  if (typeof type !== "string" || !REASONING.test(type)) return "";
  return [part.text, part.content, part.thinking].map(textIn).find((text) => text !== "") ?? "";
}

const CALL = /^(?:tool|function)[-_]?(?:call|use)$/;
const RESULT = /^(?:tool|function)[-_]?(?:call[-_]?)?(?:result|response|output)$/;

/** Returns the tool call in a part or in a list of calls, or null. */
function callOf(part: JsonValue): ToolCall | null {
  if (!isJsonObject(part)) return null;
  const { type, toolUse, functionCall, function_call: snakeCall, function: functionPart } = part;
  const named = [toolUse, functionCall, snakeCall, functionPart].find(isJsonObject);
  const isCall = named !== undefined || (typeof type === "string" && CALL.test(type));
  const call = { ...part, ...named };
  // A list of calls can contain plain calls.
  if (!isCall && !("args" in call || "arguments" in call)) return null;
  const input = call.arguments ?? call.args ?? call.input;
  return toolCall(idIn(call, "call_id", "toolCallId", "toolUseId", "id"), nameOf(call), input);
}

function resultOf(part: JsonValue): Message | null {
  if (!isJsonObject(part)) return null;
  const { type, toolResult, functionResponse, function_response: snakeResponse } = part;
  const named = [toolResult, functionResponse, snakeResponse].find(isJsonObject);
  if (named === undefined && !(typeof type === "string" && RESULT.test(type))) return null;
  const result = { ...part, ...named };
  const { content, output, response, result: value } = result;
  const isError = [result.is_error, result.isError].includes(true) || result.status === "error";
  const id = idIn(result, "tool_use_id", "call_id", "toolCallId", "toolUseId", "tool_call_id", "id");
  const [text, failed] = resultText(output ?? response ?? value ?? content ?? "");
  return toolMessage(id, text, nameOf(result), isError || failed);
}

/** The AI SDK wraps results in an `output` that states its type. */
function resultText(value: JsonValue): readonly [text: JsonValue, isError: boolean] {
  if (Array.isArray(value) && value.length > 0 && value.every(isPart)) return [value.map(textOfPart).join(""), false];
  if (!isJsonObject(value) || typeof value.type !== "string") return [value, false];
  const { type, value: inner, reason } = value;
  if (!/^(?:text|json|error-text|error-json|content|execution-denied)$/.test(type)) return [value, false];
  return [resultText(inner ?? reason ?? "")[0], /^error|denied$/.test(type)];
}

function nameOf({ name, toolName }: JsonObject): string | undefined {
  return [name, toolName].find((one) => typeof one === "string");
}

function idIn(fields: JsonObject, ...names: readonly string[]): string | undefined {
  return names.map((name) => fields[name]).find((value) => typeof value === "string");
}

const textIn = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const asValue = (content: JsonValue): JsonValue =>
  Array.isArray(content) && content.length === 0 ? "" : (content ?? "");

export function fromChat({ role, content, reasoning, calls, callId, name }: ChatMessage): Message[] {
  const known = ROLES.get(role.toLowerCase());
  if (known === "tool") return [toolMessage(callId, content, name)];
  if (known === "assistant" || calls.length > 0) {
    return [{ role: "assistant", content, toolCalls: [...calls], ...reasoningField(reasoning) }];
  }
  return [{ role: known === "system" ? "system" : "user", content }];
}

/** Arguments are an object, or JSON in a string. A string that is not a JSON object makes the call invalid. */
export function toolCall(id: string | null | undefined, name: string | undefined, input: unknown): ToolCall {
  const call = { id: id ?? "", name: name ?? "" };
  if (typeof input !== "string") return { ...call, arguments: jsonValueSchema.safeParse(input ?? {}).data ?? {} };
  const value: JsonValue = input.trim() === "" ? {} : jsonOrText(input);
  return isJsonObject(value) ? { ...call, arguments: value } : { ...call, arguments: {}, invalid: input };
}

function toolMessage(id: string | null | undefined, result: unknown, name = "", isError = false): Message {
  const content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
  return { role: "tool", toolCallId: id ?? "", name, content, isError };
}
