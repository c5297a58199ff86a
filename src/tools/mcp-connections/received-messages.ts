// Reads the messages of MCP servers, which bend JSON-RPC in many ways: null for absent fields, text for objects, other
// content types, and several messages in one line. The SDK rejects the entire message for each of these.
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject, type JsonValue, jsonObjectsIn } from "../../platform/json.js";

/** Returns the messages in a text, in the form that the protocol defines. Skips everything else. */
export function messagesIn(text: string): JSONRPCMessage[] {
  const only = onlyMessages(text);
  return only.length > 0 ? only : jsonObjectsIn(text).flatMap((value) => onlyMessages(JSON.stringify(value)));
}

/** Returns the messages in a text that is JSON: one message, or a list. */
export function onlyMessages(text: string): JSONRPCMessage[] {
  const value = parse(text);
  const messages = (Array.isArray(value) ? value : [value]).flatMap((one) => (isJsonObject(one) ? messageOf(one) : []));
  return messages as unknown as JSONRPCMessage[];
}

/** Null in `_meta` counts as absent. */
function parse(text: string): JsonValue {
  try {
    return JSON.parse(text, (key, value) => (key === "_meta" && value === null ? undefined : value));
  } catch {
    return null;
  }
}

function messageOf({ jsonrpc, id, method, params, result, error }: JsonObject): JsonObject[] {
  const head = { jsonrpc: "2.0", ...(id == null ? {} : { id }) };
  // A log line can have a method, too.
  if (typeof method === "string" && jsonrpc != null)
    return [{ ...head, method, ...(params == null ? {} : { params }) }];
  if (error != null) return id == null && jsonrpc == null ? [] : [{ ...head, error: errorOf(error) }];
  return result === undefined || id == null ? [] : [{ ...head, result: resultOf(result) }];
}

const INTERNAL_ERROR = -32_603;

function errorOf(error: JsonValue): JsonObject {
  if (!isJsonObject(error)) return { code: INTERNAL_ERROR, message: asText(error) };
  const { code, message, data, ...others } = error;
  const words: JsonValue = message ?? data ?? others;
  return {
    code: typeof code === "number" ? code : INTERNAL_ERROR,
    message: asText(words),
    ...(data == null ? {} : { data }),
  };
}

const asText = (value: JsonValue) => (typeof value === "string" ? value : JSON.stringify(value));

/** The fields of the reply to `initialize`. */
const INTRODUCTION = ["protocolVersion", "capabilities", "serverInfo"];

/** The revision of servers that do not specify one, as for the header of the HTTP transport. */
const UNSPECIFIED_REVISION = "2025-03-26";

function resultOf(result: JsonValue): JsonObject {
  if (!isJsonObject(result)) return { content: result };
  if (!INTRODUCTION.some((field) => field in result)) return result;
  const { protocolVersion, capabilities, serverInfo, ...others } = withoutNulls(result) as JsonObject;
  return {
    ...others,
    protocolVersion: protocolVersion ?? UNSPECIFIED_REVISION,
    capabilities: capabilities ?? {},
    serverInfo: { name: "unknown", version: "unknown", ...(isJsonObject(serverInfo) ? serverInfo : {}) },
  };
}

function withoutNulls(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutNulls(inner)]));
}

/** A server that requires a token says so with these statuses, whatever the body. */
const REQUIRES_TOKEN: ReadonlySet<number> = new Set([401, 403]);

/** Returns success, even if the server rejected the notification. Some reject notifications that they do not handle. */
export async function withErrorIgnored(response: Response): Promise<Response> {
  if (response.ok || REQUIRES_TOKEN.has(response.status)) return response;
  await response.body?.cancel();
  return new Response(null, { status: 202 });
}

/**
 * Returns the answer to a call with the status 200, if the body of an HTTP error is the error of that call. The server
 * has then handled the call, so the status is not a reason to send it again.
 */
export async function withErrorAsAnswer(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  if (response.ok || REQUIRES_TOKEN.has(status)) return response;
  const text = await response.text();
  const [answer] = onlyMessages(text).filter((message) => "error" in message && "id" in message);
  return answer === undefined ? new Response(text, { status, statusText, headers }) : Response.json(answer);
}

/**
 * Returns a response whose body contains only messages that the SDK accepts, as an event stream or as JSON. Its content
 * type is that of the body, because some servers send another one or none.
 */
export async function withRepairedMessages(response: Response): Promise<Response> {
  const { body, status, statusText } = response;
  if (body === null || !response.ok) return response;
  const headers = new Headers(response.headers);
  if (/^text\/event-stream\b/i.test(headers.get("content-type") ?? "")) {
    const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(repairedEvents());
    return new Response(events.pipeThrough(new TextEncoderStream()), { status, statusText, headers });
  }
  const text = await response.text();
  const isStream = /^\s*(?:data|event|id)?:/.test(text);
  const messages = isStream ? [] : messagesIn(text);
  if (isStream) headers.set("content-type", "text/event-stream");
  else if (messages.length > 0) headers.set("content-type", "application/json");
  const repaired = JSON.stringify(messages.length > 1 ? messages : messages[0]);
  const content = isStream ? eventsIn(text) : (repaired ?? text);
  return new Response(content, { status, statusText, headers });
}

function eventsIn(text: string): string {
  const { feed, end } = eventRepair();
  return feed(text) + end();
}

function repairedEvents(): TransformStream<string, string> {
  const { feed, end } = eventRepair();
  return new TransformStream({
    transform: (chunk, controller) => controller.enqueue(feed(chunk)),
    flush: (controller) => controller.enqueue(end()),
  });
}

/** Rewrites events as they arrive. The last one might lack the blank line at its end. */
function eventRepair() {
  let ready = "";
  const parser = createParser({
    onRetry: (milliseconds) => {
      ready += `retry: ${milliseconds}\n`;
    },
    onEvent: ({ event, id, data }) => {
      const head = `${event === undefined ? "" : `event: ${event}\n`}${id === undefined ? "" : `id: ${id}\n`}`;
      const messages = messagesIn(data);
      // The older transport's first event contains a URL.
      const contents = messages.length === 0 ? [data] : messages.map((message) => JSON.stringify(message));
      ready += head + contents.map((content) => `data: ${content.replaceAll("\n", "\ndata: ")}\n\n`).join("");
    },
  });
  const feed = (text: string) => {
    parser.feed(text);
    const events = ready;
    ready = "";
    return events;
  };
  return { feed, end: () => feed("\n\n") };
}
