import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type Dispatcher, request } from "undici";
import { openConnections } from "../../platform/outgoing-connections.js";
import { ModelError, type ReplyDelta } from "../model.js";
import { toModelError } from "../provider-errors.js";
import { httpError, type JsonReply, redirectTarget, replyText, withDeadline } from "../provider-http.js";
import { reportedUsage } from "../reported-usage.js";
import { eventData, isEventStream, toHeaders } from "../sse-reader.js";

/**
 * Streams one reply of a model. Each wire format has an assembler, which reports the parts of the reply as they arrive
 * and builds the body that the server would have sent without streaming. From there on, both kinds of replies are read
 * by the same code.
 */

/** Receives the parts of a reply. Must not throw. */
export type OnDelta = (delta: ReplyDelta) => void;

/** Builds the body of a plain reply from the events of a streamed one. */
export interface ReplyAssembler {
  /**
   * Adds an event and returns whether it is the last one. Throws a ModelError if the event reports a failure, and zod's
   * error if it does not have the provider's format.
   */
  add(event: unknown): boolean;
  /** Whether the server has declared the reply finished. A stream that ends earlier was cut off. */
  readonly isComplete: boolean;
  /** The body so far. */
  body(): unknown;
}

interface StreamedCall {
  readonly url: string;
  /** From `jsonHeaders`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
  /** Timeout of the entire reply in milliseconds. */
  readonly timeoutMs: number;
  /** Keys to redact from errors. */
  readonly secrets: readonly string[];
}

interface OpenReply {
  readonly status: number;
  readonly headers: Headers;
  readonly chunks: AsyncIterable<Buffer>;
  /** Closes the connection. */
  close(): void;
}

/** A way to send a request. */
type Send = () => Promise<JsonReply>;

type Opened = Awaited<ReturnType<typeof request>>;

/**
 * Posts a request and returns the body that `assembler` builds from its events. A server that replies with JSON does
 * not stream, and its reply is returned unchanged.
 *
 * @throws ModelError, which includes the usage that the server reported before a failure, or the signal's reason
 */
export async function streamReply(call: StreamedCall, assembler: ReplyAssembler): Promise<JsonReply> {
  const { signal, timeoutMs, secrets } = call;
  let header: JsonReply["header"] = () => null;
  try {
    return await withDeadline(signal, timeoutMs, async (within) => {
      const { status, headers, chunks, close } = await open(call, within);
      header = (name) => headers.get(name);
      if (status >= 300) throw httpError(status, headers, await textOf(chunks).catch(() => ""));
      if (!isEventStream(headers)) return { body: JSON.parse(replyText(await textOf(chunks), status)), header };
      const events = eventData(chunks);
      try {
        await assemble(events, assembler, within);
      } catch (error) {
        close();
        throw error;
      }
      void drain(events, close);
      if (!assembler.isComplete) throw cutOff();
      return { body: assembler.body(), header };
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toModelError(error, secrets);
    const { usage, costUsd = null } = reportedUsage({ body: assembler.body(), header });
    throw failure instanceof ModelError && usage !== null ? failure.with({ billed: { usage, costUsd } }) : failure;
  }
}

/** Reads up to the last event, or to the end of the stream. */
async function assemble(events: AsyncGenerator<string>, assembler: ReplyAssembler, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { value: data = "", done } = await events.next();
    // Parts that arrive after an abort are not reported.
    signal.throwIfAborted();
    if (done || data.trim() === "[DONE]" || assembler.add(JSON.parse(data))) return;
  }
}

/** Maximum milliseconds between the last event and the end of its stream. */
const DRAIN_MS = 1_000;

/** Reads to the end of a stream, because the next call can then use the same connection. */
async function drain(events: AsyncGenerator<string>, close: () => void): Promise<void> {
  const timer = setTimeout(close, DRAIN_MS);
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

/** Opened on the first call, so that the call reports an unusable proxy. */
let connections: Dispatcher | undefined;

/** Resolves when the headers have arrived. Follows redirects within one origin, like a plain call. */
async function open({ url, headers, body }: StreamedCall, signal: AbortSignal): Promise<OpenReply> {
  connections ??= openConnections({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const accept = { ...headers, accept: "text/event-stream" };
    const reply = await request(at, { dispatcher: connections, method: "POST", headers: accept, body, signal });
    const received = toHeaders(reply.headers);
    const target = redirectTarget(at, received, reply.statusCode, redirects);
    if (target === null) {
      const chunks = decompressed(reply.body, received.get("content-encoding"));
      return { status: reply.statusCode, headers: received, chunks, close: () => void reply.body.destroy() };
    }
    await reply.body.dump();
    at = target;
  }
}

const DECODERS = { gzip: createGunzip, "x-gzip": createGunzip, deflate: createInflate, br: createBrotliDecompress };

/** Compression is never requested, but some proxies use it anyway. */
function decompressed(body: Opened["body"], encoding: string | null): AsyncIterable<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (!(name in DECODERS)) return body;
  const decoder = DECODERS[name as keyof typeof DECODERS]();
  body.on("error", (error) => decoder.destroy(error));
  return body.pipe(decoder);
}

/** Limit of a reply that is not a stream. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    all.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_TEXT_BYTES) throw new ModelError("protocol", "the reply is too large", { retryable: false });
  }
  return Buffer.concat(all).toString("utf8");
}

/** Statuses for a request that the server does not support. */
const UNSUPPORTED = new Set([400, 403, 404, 405, 415, 422, 501]);
const UNKNOWN_PATH = new Set([404, 405, 501]);

/**
 * Remembers how a server can be asked for a reply: with streaming, or without it if the server refuses to stream, such
 * as OpenAI for an organization that is not verified.
 */
export class StreamSupport {
  private first = 0;

  /** @param hasOwnPath whether streaming has its own path, which a compatible server might not have */
  constructor(private readonly hasOwnPath = false) {}

  /** Sends in the first of several ways that the server does not refuse. */
  async send(ways: readonly [Send, ...Send[]]): Promise<JsonReply> {
    for (let way = this.first; ; way++) {
      try {
        const reply = await (ways[way] ?? ways[0])();
        this.first = way;
        return reply;
      } catch (error) {
        if (way >= ways.length - 1 || !this.isRefused(error)) throw error;
      }
    }
  }

  private isRefused(error: unknown): boolean {
    if (!(error instanceof ModelError) || error.status === null) return false;
    if (this.hasOwnPath && UNKNOWN_PATH.has(error.status)) return true;
    return UNSUPPORTED.has(error.status) && /stream/i.test(error.message);
  }
}
