// Sends one request and reads its reply, streamed or not. Each wire format has an assembler, which reports the parts of
// a streamed reply as they arrive and builds the body that the server would have sent without streaming. From there on,
// both kinds of replies are read by the same code.
import { Readable } from "node:stream";
import { parseJsonOrNull } from "../../platform/json.js";
import { failureInReply } from "../endpoint.js";
import { ModelError, type ReplyDelta } from "../model.js";
import { toModelError } from "../provider-errors.js";
import { DONE, isEventStream, readEvents, type StreamEvent } from "./event-stream.js";
import { type HttpReply, httpError, type JsonReply, sendRequest } from "./http-sender.js";
import { reportedUsage } from "./reported-usage.js";

/** Receives the parts of a reply. Must not throw. */
export type OnDelta = (delta: ReplyDelta) => void;

/** The object in an event. Its type is the event's name if it has none of its own. */
export type EventFields = Readonly<Record<string, unknown>>;

/** Builds the body of a plain reply from the events of a streamed one. */
export interface ReplyAssembler {
  /**
   * Adds an event and returns whether it is the last one. Ignores unknown events and parts of events. Throws a
   * ModelError if the event reports a failure.
   */
  add(event: EventFields): boolean;
  /**
   * Returns whether the server has declared the reply finished. A stream that ends earlier was cut off.
   *
   * @param isDone whether the stream ended with `[DONE]`
   */
  isComplete(isDone: boolean): boolean;
  /** The body so far. */
  body(): unknown;
}

interface ModelCall {
  readonly url: string;
  /** From `jsonHeaders`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
  /** Timeout of the entire reply in milliseconds. */
  readonly timeoutMs: number;
  /** Keys to redact from errors. */
  readonly secrets: readonly string[];
  /** Whether a stream is requested. A server can also stream without a request. */
  readonly isStreamed?: boolean;
}

/** A way to send a request. */
export type Send = () => Promise<JsonReply>;

/**
 * Posts a request and returns the body of the reply. From a stream, `assembler` builds the body. A server that replies
 * with JSON does not stream, and its reply is returned unchanged.
 *
 * @throws ModelError, which includes the usage that the server reported before a failure, or the signal's reason
 */
export async function postForReply(call: ModelCall, assembler: ReplyAssembler): Promise<JsonReply> {
  const { url, signal, timeoutMs, secrets, isStreamed = false } = call;
  const headers = isStreamed ? { ...call.headers, accept: "text/event-stream" } : call.headers;
  let header: JsonReply["header"] = () => null;
  try {
    const reply = await sendRequest(url, { method: "POST", headers, body: call.body }, { signal, timeoutMs });
    header = (name) => reply.headers.get(name);
    if (!reply.ok) throw await httpError(reply);
    return { body: await bodyOf(reply, assembler, signal), header };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toModelError(error, secrets);
    const { usage, costUsd = null } = reportedUsage({ body: assembler.body(), header });
    throw failure instanceof ModelError && usage !== null ? failure.with({ billed: { usage, costUsd } }) : failure;
  }
}

/** Reads an event stream as it arrives, whether or not it was requested. Any other body is read as a whole. */
async function bodyOf(reply: HttpReply, assembler: ReplyAssembler, signal: AbortSignal): Promise<unknown> {
  const { start, chunks } = await peek(reply.chunks());
  if (isEventStream(start)) return assembled(readEvents(chunks), assembler, signal, reply.stop);
  const { status } = reply;
  const text = await reply.text(chunks);
  if (status === 202 || text.trim() === "") {
    const message =
      status === 202 ? "202: the server accepted the request, but did not reply" : `${status} without a body`;
    throw new ModelError("protocol", message, { status, retryable: status === 200 });
  }
  const body = jsonIn(text);
  return Array.isArray(body) ? assembled(eventsOf(body), assembler, signal) : body;
}

/** Builds the body of a reply whose event stream was read as text. Returns any other body unchanged. */
export async function fromEventText(body: unknown, assembler: ReplyAssembler, signal: AbortSignal): Promise<unknown> {
  if (typeof body !== "string" || !isEventStream(body)) return body;
  return assembled(readEvents(Readable.from([Buffer.from(body)])), assembler, signal);
}

/** Returns the start of a body, up to its first field, and the entire body. */
async function peek(chunks: AsyncGenerator<Buffer>) {
  const read: Buffer[] = [];
  let start = "";
  while (start.length < MAX_START && start.trim().length < LONGEST_START && !start.includes(":")) {
    const { value, done } = await chunks.next();
    if (done) break;
    read.push(value);
    start += value.toString("latin1");
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield* read;
    yield* chunks;
  }
  // The byte order mark, in Latin-1.
  return { start: start.replace(/^\xef\xbb\xbf/, ""), chunks: all() };
}

/** Between two objects that follow each other without a line break. */
const BETWEEN_OBJECTS = /(?<=\})[\s,]*(?=\{)/;

/**
 * Returns the JSON in a text. Several objects are events, like the items of an array (Gemini). Lines are tried first,
 * because a text in an object can contain `}{`.
 */
function jsonIn(text: string): unknown {
  const whole = parseJsonOrNull(text);
  if (whole !== null) return whole;
  for (const separator of ["\n", BETWEEN_OBJECTS]) {
    const parts = text.split(separator).filter((part) => part.trim() !== "");
    const values = parts.map(parseJsonOrNull);
    if (!values.includes(null)) return values;
  }
  throw notJson(text.trim());
}

/** Contains the text of a server or proxy that replied in plain words, but no bytes that are not text. */
function notJson(text: string): ModelError {
  const words = /^[{[]|\ufffd/.test(text) ? "" : `: ${text.slice(0, 100)}`;
  return new ModelError("protocol", `the reply is not JSON, or is incomplete${words}`, { retryable: true });
}

async function* eventsOf(values: readonly unknown[]): AsyncGenerator<StreamEvent> {
  for (const value of values) yield { name: "", data: JSON.stringify(value) };
}

/** Characters that show whether a body is an event stream: `retry:`, after a byte order mark. */
const LONGEST_START = 12;

/** Maximum number of characters before the first field, such as empty lines that keep the connection open. */
const MAX_START = 100_000;

/** Returns the body that `assembler` builds from events up to the last one. */
async function assembled(
  events: AsyncGenerator<StreamEvent>,
  assembler: ReplyAssembler,
  signal: AbortSignal,
  stop: (why: Error) => void = () => {},
): Promise<unknown> {
  let isDone = false;
  let last: EventFields | null = null;
  try {
    for (let isLast = false; !isLast; ) {
      const { value: event, done } = await events.next();
      // Parts that arrive after an abort are not reported.
      signal.throwIfAborted();
      isDone = event?.data.trim() === DONE;
      const fields: EventFields | null = event === undefined || isDone ? null : fieldsOf(event);
      last = fields ?? last;
      isLast = done === true || isDone || (fields !== null && addEvent(fields, assembler));
    }
  } catch (error) {
    stop(error as Error);
    throw error;
  }
  void drain(events, stop);
  // The last event can be the server's reason, such as `{"detail": "..."}`.
  if (!assembler.isComplete(isDone)) throw failureInReply(last) ?? cutOff();
  return assembler.body();
}

/** Returns the object in an event, or null for text that only keeps the connection open. */
function fieldsOf({ name, data }: StreamEvent): EventFields | null {
  const isError = name === "error";
  const value: unknown = /^\s*[{[]/.test(data) ? JSON.parse(data) : isError ? { message: data } : null;
  if (typeof value !== "object" || value === null) return null;
  return isError ? { error: value, ...value, type: name } : { type: name, ...value };
}

/** Adds an event, or throws the failure that it reports: in its type, `object` (vLLM) or `error`. */
function addEvent(event: EventFields, assembler: ReplyAssembler): boolean {
  if (event.error != null || [event.type, event.object].includes("error")) {
    const failure = failureInReply({ error: event.error ?? event });
    if (failure !== null) throw failure;
  }
  return assembler.add(event);
}

/** Maximum milliseconds between the last event and the end of its stream. */
const DRAIN_MS = 1_000;

/** Reads to the end of a stream, because the next call can then use the same connection. */
async function drain(events: AsyncGenerator<StreamEvent>, stop: (why: Error) => void): Promise<void> {
  const timer = setTimeout(() => stop(cutOff()), DRAIN_MS);
  timer.unref();
  try {
    for (let at = await events.next(); !at.done; ) at = await events.next();
  } catch {
    // The reply is complete, so a failure only costs the connection.
  } finally {
    clearTimeout(timer);
  }
}

function cutOff(): ModelError {
  return new ModelError("network", "the reply stream ended before the reply was complete", { retryable: true });
}
