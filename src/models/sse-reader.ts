import { createParser } from "eventsource-parser";
import { type Dispatcher, request } from "undici";
import { parseJsonOrNull } from "../platform/json.js";
import { openConnections } from "../platform/outgoing-connections.js";
import { redactStart } from "../platform/secrets.js";
import { ModelError } from "./model.js";
import { toModelError } from "./provider-errors.js";

interface StreamRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Maximum silence between two bytes, in milliseconds. */
  readonly idleMs: number;
  /** Redacted from every error. */
  readonly apiKey: string;
}

/** Generous limit per answer, because an answer that contains entire emails can be long. */
const MAX_STREAM_BYTES = 64_000_000;
const MAX_FRAME_CHARS = 16_000_000;
const MAX_ERROR_BYTES = 64_000;

let connections: Dispatcher | undefined;

type StreamReply = Awaited<ReturnType<typeof request>>;

/**
 * Posts JSON and yields the data of each server-sent event when it arrives. The caller stops after the last event.
 * Throws a ModelError if the reply is not an event stream, or the signal's reason. If the stream ends inside a frame,
 * that part is still yielded.
 */
export async function* readServerSentEvents(streamRequest: StreamRequest, signal: AbortSignal): AsyncGenerator<string> {
  signal.throwIfAborted();
  connections ??= openConnections({ connections: null });
  try {
    const reply = await request(streamRequest.url, {
      dispatcher: connections,
      method: "POST",
      headers: { ...streamRequest.headers, "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(streamRequest.body),
      headersTimeout: streamRequest.idleMs,
      bodyTimeout: streamRequest.idleMs,
      signal,
    });
    checkHead(reply.statusCode, reply.headers, await errorBody(reply, streamRequest.apiKey), streamRequest);
    yield* eventData(reply.body);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(error, [streamRequest.apiKey]);
  }
}

/**
 * Yields the data of each event in the body of a reply when it arrives. If the body ends inside a frame, that part is
 * still yielded. Throws a ModelError if the body is too large.
 */
export async function* eventData(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const frames: string[] = [];
  let broken: Error | null = null;
  const parser = createParser({
    maxBufferSize: MAX_FRAME_CHARS,
    onEvent: ({ data }) => frames.push(data),
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") broken = error;
    },
  });
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (broken !== null || bytes > MAX_STREAM_BYTES) throw streamTooLong();
    yield* frames.splice(0);
  }
  parser.feed(`${decoder.decode()}\n\n`);
  yield* frames.splice(0);
}

function streamTooLong(): ModelError {
  return new ModelError("protocol", `the reply stream is larger than ${MAX_STREAM_BYTES / 1e6} MB`, {
    retryable: false,
  });
}

/**
 * Returns the body of a reply that is not an event stream, such as an error or another program's page, or null for an
 * event stream.
 */
async function errorBody(reply: StreamReply, apiKey: string): Promise<string | null> {
  if (reply.statusCode === 200 && isEventStream(toHeaders(reply.headers))) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply.body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ERROR_BYTES) break;
  }
  return redactStart(Buffer.concat(chunks).toString("utf8"), bytes > MAX_ERROR_BYTES, [apiKey]);
}

function checkHead(
  status: number,
  headers: StreamReply["headers"],
  body: string | null,
  { url, apiKey }: StreamRequest,
): void {
  if (body === null) return;
  if (status >= 300 && status < 400) {
    const to = headers.location === undefined ? "elsewhere" : `to ${new URL(String(headers.location), url).href}`;
    // The error has the same kind as for an unknown agent, because every further question would also fail.
    throw new ModelError("not_found", `${status} redirects ${to}. Pass the URL that it redirects to`, {
      retryable: false,
    });
  }
  if (status === 200) {
    const type = String(headers["content-type"] ?? "no type");
    throw new ModelError("protocol", `the server returned ${type}, expected text/event-stream`, { retryable: false });
  }
  const error = { status, message: body, headers: toHeaders(headers), error: parseJsonOrNull(body) };
  throw toModelError(error, [apiKey]);
}

export function toHeaders(received: StreamReply["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) if (value !== undefined) headers.set(name, String(value));
  return headers;
}

export function isEventStream(headers: Headers): boolean {
  return /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}
