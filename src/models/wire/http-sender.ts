// Sends the requests of all providers, with deadlines, redirects and limits on bodies.
import { pipeline, Readable, type Transform } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import type { Dispatcher } from "undici";
import { NEVER } from "../../platform/deadline.js";
import { readText } from "../../platform/http.js";
import { isJsonObject, parseJsonOrNull } from "../../platform/json.js";
import { openConnections } from "../../platform/outgoing-connections.js";
import { followRedirects, REPEATING_REDIRECTS } from "../../platform/redirects.js";
import { ANSWERED_WEB_PAGE, ModelError } from "../model.js";

/** A reply with status 200. */
export interface JsonReply {
  readonly body: unknown;
  header(name: string): string | null;
}

interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

interface HttpOptions {
  readonly signal: AbortSignal;
  /** Timeout in milliseconds, or null to rely only on the signal. */
  readonly timeoutMs: number | null;
  /** Whether the timeout starts again with each part of the reply. */
  readonly isIdleTimeout?: boolean;
}

type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Response with an HTTP status of 400 or above, with the same properties as the SDKs' errors. */
class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly headers: Headers,
    /** Parsed JSON body, if possible. */
    readonly error: unknown,
    message: string,
  ) {
    super(message);
  }
}

/** Returns the headers of a JSON request. They are created and validated once per model. */
export function jsonHeaders(others: Readonly<Record<string, string>>): Record<string, string> {
  const type = "application/json";
  return toHeaderRecord({ accept: type, "content-type": type, "user-agent": "art-e", ...others });
}

/**
 * Serializes to bytes, which are outside V8's heap. As strings, request bodies were the largest part of the data copied
 * by the garbage collector.
 */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Returns one JSON object with the fields of both, which are not empty. */
export function joinObjects(first: Buffer, second: Buffer): Buffer {
  return Buffer.concat([first.subarray(0, -1), Buffer.from(","), second.subarray(1)]);
}

/** Returns the reply to an SDK call. */
export async function sdkReply(call: {
  withResponse(): Promise<{ data: unknown; response: { headers: Headers } }>;
}): Promise<JsonReply> {
  const { data, response } = await call.withResponse();
  return { body: data, header: (name) => response.headers.get(name) };
}

/** Returns the error for a reply that is neither a success nor a followed redirect. */
export async function httpError(reply: HttpReply): Promise<Error> {
  // The status is informative even if the body cannot be read.
  const text = await reply.text().catch(() => "");
  return new HttpError(reply.status, reply.headers, parseJsonOrNull(text), text.trim() || "without a body");
}

/** Allowed request headers. SDKs add others based on environment variables that are meant for other programs. */
const ALLOWED = new Set([
  "accept",
  "anthropic-version",
  "authorization",
  "content-type",
  "user-agent",
  "x-api-key",
  "x-goog-api-key",
]);

/** Opened on the first call, so that the call reports an unusable proxy. */
let connections: Dispatcher | undefined;

function toHeaderRecord(headers: RequestInit["headers"]): Record<string, string> {
  return Object.fromEntries([...new Headers(headers)].filter(([name]) => ALLOWED.has(name)));
}

/**
 * Sends one request and returns its reply when the headers have arrived. Uses undici's dispatcher, which takes a fifth
 * of the time of `fetch`. Follows redirects only within one origin, because the key and the prompt are meant for the
 * user's chosen server.
 *
 * @throws the signal's reason, a `timeout` ModelError, or a network error like those of the platform's fetch
 */
export async function sendRequest(url: string, request: HttpRequest, options: HttpOptions): Promise<HttpReply> {
  options.signal.throwIfAborted();
  // The error has the same kind as for an unknown address, because every further call would also fail.
  const refuse = (why: string, status: number) =>
    new ModelError("not_found", `${status} ${why}`, { status, retryable: false });
  return followRedirects(url, (at) => dispatch(at, request, options), {
    statuses: REPEATING_REDIRECTS,
    // The next request can then use the same connection.
    discard: (reply) => reply.text(),
    check({ status, from, to }) {
      if (to.origin === from.origin) return;
      const why = `redirects to ${to.origin}. The key and the prompt are not sent there. If it is the right server, pass its URL instead (--base-url, --agent-url or --api-url)`;
      throw refuse(why, status);
    },
    refuse,
  });
}

/** Resolves when the headers have arrived. */
function dispatch(url: URL, { method, headers, body }: HttpRequest, options: HttpOptions): Promise<HttpReply> {
  const { origin, pathname, search } = url;
  // Allows one connection per running call. Each call has its own deadline, so undici's timeouts are off.
  connections ??= openConnections({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const pool = connections;
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(options, resolve, reject);
    const path = `${pathname}${search}`;
    pool.dispatch({ origin, path, method, headers, body }, handler);
  });
}

/** Received bytes that wait to be read. A faster server waits. */
const MAX_HELD_BYTES = 1_000_000;

/**
 * Receives one reply. Implements the deadline itself, because an AbortSignal per call uses 5% of the event-loop time of
 * a call.
 */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private readonly chunks: Buffer[] = [];
  private heldBytes = 0;
  private readonly timer: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | null = null;
  private hasEnded = false;
  private failure: Error | null = null;
  private wake: () => void = () => {};

  constructor(
    private readonly options: HttpOptions,
    private readonly resolve: (reply: HttpReply) => void,
    private readonly reject: (error: Error) => void,
  ) {
    const { signal, timeoutMs } = options;
    signal.addEventListener("abort", this.abort, { once: true });
    if (timeoutMs !== null) this.timer = setTimeout(() => this.stop(timeoutError(options)), timeoutMs);
  }

  private readonly abort = (): void => this.stop(this.options.signal.reason as Error);

  /** Rejects immediately, even while connecting. */
  readonly stop = (why: Error): void => {
    if (this.hasEnded) return;
    this.fail(why);
    this.controller?.abort(why);
  };

  private end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.options.signal.removeEventListener("abort", this.abort);
    this.wake();
  }

  private fail(why: Error): void {
    this.failure ??= why;
    this.end();
    this.reject(this.failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failure !== null) controller.abort(this.failure);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders): void {
    // An informational response before the reply, such as 103 Early Hints.
    if (status >= 200) this.resolve(new HttpReply(status, headers, this.read(), this.stop));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.options.isIdleTimeout) this.timer?.refresh();
    this.chunks.push(chunk);
    this.heldBytes += chunk.length;
    if (this.heldBytes > MAX_HELD_BYTES) controller.pause();
    this.wake();
  }

  onResponseEnd(): void {
    this.end();
  }

  /** Wraps the error like the platform's fetch, because `toModelError` recognizes that form. */
  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(new TypeError("fetch failed", { cause: error }));
  }

  private async *read(): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = this.chunks.shift();
      if (chunk !== undefined) {
        this.heldBytes -= chunk.length;
        if (this.heldBytes <= MAX_HELD_BYTES && this.controller?.paused) this.controller.resume();
        yield chunk;
      } else if (this.failure !== null) throw this.failure;
      else if (this.hasEnded) return;
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    }
  }
}

/** A reply whose body is read once, either in chunks or as a whole. */
export class HttpReply {
  readonly ok: boolean;
  private read: Headers | null = null;

  constructor(
    readonly status: number,
    private readonly received: ReceivedHeaders,
    private readonly raw: AsyncGenerator<Buffer>,
    /** Closes the connection. */
    readonly stop: (why: Error) => void,
  ) {
    this.ok = status >= 200 && status < 300;
  }

  /** Created lazily because most callers read only the body. */
  get headers(): Headers {
    if (this.read === null) {
      this.read = new Headers();
      for (const [name, value] of Object.entries(this.received)) {
        for (const one of Array.isArray(value) ? value : [value ?? ""]) this.read.append(name, one);
      }
    }
    return this.read;
  }

  /** The decompressed body, in parts as they arrive. */
  chunks(): AsyncGenerator<Buffer> {
    // Compression is never requested, but some proxies use it anyway.
    return "content-encoding" in this.received ? decoded(this.raw, this.headers.get("content-encoding")) : this.raw;
  }

  /**
   * Returns the entire body, without a byte order mark if the reply is successful. Throws a ModelError if it is too
   * large, or a web page.
   *
   * @param chunks the body, if a part of it was already read
   */
  async text(chunks: AsyncIterable<Buffer> = this.chunks()): Promise<string> {
    const text = await readText(chunks, MAX_BYTES, () => {
      const why = `the reply is larger than ${MAX_BYTES / 1024 / 1024} MB`;
      const tooLarge = new ModelError("protocol", why, { retryable: false });
      this.stop(tooLarge);
      return tooLarge;
    });
    if (!this.ok || !WEB_PAGE.test(text)) return text;
    throw new ModelError("protocol", ANSWERED_WEB_PAGE, { status: this.status, retryable: false });
  }
}

/**
 * Many times the size of any model's longest reply. A larger reply indicates a faulty server. It is not retried,
 * because a retry would probably be just as large.
 */
const MAX_BYTES = 8 * 1024 * 1024;

/** The start of an HTML page, which means that the address does not belong to an API or requires a login first. */
const WEB_PAGE = /^\s*<(?:!doctype\s+html|html)\b/i;

/** The start of a body that is not compressed, although a proxy that decompressed it left the header. */
const PLAIN = /^\s*(?:[[{]\s*["{[\]}]|(?:data|event|id|retry)?:|<[!a-z])/i;

/**
 * Returns the decoder for a body, or null for plain text. Its first bytes count more than the name of its encoding: a
 * gzip or zlib header (RFC 1952 and 1950). Some servers send deflate without the header.
 */
function decoderOf(first: Buffer, name: string): Transform | null {
  const magic = first.length > 1 ? first.readUInt16BE() : 0;
  if (magic === 0x1f8b) return createGunzip();
  if (magic === 0 || PLAIN.test(first.toString("latin1", 0, 100))) return null;
  if (name === "br") return createBrotliDecompress();
  if (magic % 31 === 0 && (magic >> 8) % 16 === 8) return createInflate();
  return name === "deflate" ? createInflateRaw() : null;
}

/** Removes encodings in reverse order of their application (RFC 9110, section 8.4). */
function decoded(chunks: AsyncGenerator<Buffer>, encodings: string | null): AsyncGenerator<Buffer> {
  const names = (encodings ?? "").toLowerCase().split(",");
  return names.reduceRight((at, name) => decodedWith(at, name.trim()), chunks);
}

async function* decodedWith(chunks: AsyncGenerator<Buffer>, name: string): AsyncGenerator<Buffer> {
  const { value: first = Buffer.alloc(0) } = await chunks.next();
  async function* all(): AsyncGenerator<Buffer> {
    yield first;
    yield* chunks;
  }
  const decoder = decoderOf(first, name);
  if (decoder === null) {
    yield* all();
    return;
  }
  pipeline(Readable.from(all()), decoder, () => undefined);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    // Other errors are those of the connection.
    if (!/^(?:Z_|ERR_)/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    throw new ModelError("protocol", "the reply cannot be decompressed, or is incomplete", { retryable: true });
  }
}

/** Statuses that do not allow a body in a Response. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Returns a `fetch` for the SDKs that is based on our own client. Sends only the headers of a plain request, because
 * the SDKs have no option to ignore ANTHROPIC_CUSTOM_HEADERS and OPENAI_CUSTOM_HEADERS, which are meant for other
 * programs and servers.
 *
 * @param change adds the user's headers and removes the headers they replace
 */
export function sdkFetch(change: (headers: Record<string, string>) => Record<string, string>): Fetch {
  return async (input, init = {}) => {
    const { method = "GET", body, signal } = init;
    const url = input instanceof Request ? input.url : String(input);
    const request = {
      method: method as Dispatcher.HttpMethod,
      headers: change(toHeaderRecord(init.headers)),
      body: (body ?? null) as string | null,
    };
    const options = { signal: signal ?? NEVER, timeoutMs: null };
    const reply = await sendRequest(url, request, options);
    const { status, headers } = reply;
    return new Response(WITHOUT_BODY.has(status) ? null : ReadableStream.from(bodyOf(reply)), { status, headers });
  };
}

/**
 * If the body breaks off, the error appears when the SDK reads it. OpenAI's SDK keeps only the field `error` of an
 * error's body, but other servers have other forms.
 */
async function* bodyOf(reply: HttpReply): AsyncGenerator<Uint8Array> {
  const text = await reply.text();
  const error = reply.ok ? null : parseJsonOrNull(text);
  const isForeign = isJsonObject(error) && error.error === undefined;
  yield Buffer.from(isForeign ? JSON.stringify({ error }) : text);
}

export function timeoutError({
  timeoutMs,
  isIdleTimeout,
}: Pick<HttpOptions, "timeoutMs" | "isIdleTimeout">): ModelError {
  const what = isIdleTimeout ? "no data" : "no complete reply";
  return new ModelError("timeout", `${what} within ${(timeoutMs ?? 0) / 1000} s`, { retryable: true });
}
