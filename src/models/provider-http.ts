import { ReadableStream } from "node:stream/web";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { Dispatcher } from "undici";
import { openDeadline } from "../platform/deadline.js";
import { parseJsonOrNull } from "../platform/json.js";
import { openConnections } from "../platform/outgoing-connections.js";
import { ANSWERED_WEB_PAGE, ModelError } from "./model.js";

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

/**
 * Returns the headers of a JSON request. They are created and validated once per model.
 *
 * @param extra the user's headers with lowercase names, which override others
 */
export function jsonHeaders(
  others: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const type = "application/json";
  return { ...toHeaderRecord({ accept: type, "content-type": type, "user-agent": "art-e", ...others }), ...extra };
}

/**
 * Serializes to bytes, which are outside V8's heap. As strings, request bodies were the largest part of the data copied
 * by the garbage collector.
 */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Returns one JSON object with the fields of both. */
export function joinObjects(first: Buffer, second: Buffer): Buffer {
  const isEmpty = second.length === "{}".length;
  return isEmpty ? first : Buffer.concat([first.subarray(0, -1), COMMA, second.subarray(1)]);
}

const COMMA = Buffer.from(",");

/** Returns the reply to an SDK call. */
export async function sdkReply(call: {
  withResponse(): Promise<{ data: unknown; response: { headers: Headers } }>;
}): Promise<JsonReply> {
  const { data, response } = await call.withResponse();
  return { body: data, header: (name) => response.headers.get(name) };
}

/**
 * Posts JSON and returns the JSON reply. Used for the wire format of local servers, because the OpenAI SDK would use
 * 10% of the event-loop time per call there.
 *
 * @param headers from `jsonHeaders`
 * @throws the errors of `sendRequest`, an `HttpError`, or a SyntaxError if the reply is not JSON
 */
export async function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  options: HttpOptions,
): Promise<JsonReply> {
  const reply = await sendRequest(url, { method: "POST", headers, body }, options);
  if (reply.ok) return { body: JSON.parse(await reply.text()), header: (name) => reply.headers.get(name) };
  // The status is informative even if the body cannot be read.
  throw httpError(reply.status, reply.headers, await reply.text().catch(() => ""));
}

/** Returns the error for a reply that is neither a success nor a followed redirect. */
export function httpError(status: number, headers: Headers, text: string): Error {
  return new HttpError(status, headers, parseJsonOrNull(text), text.trim() || "without a body");
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

/** Redirects that repeat the request. A 303 would change it to a GET, which cannot be a model call. */
const REDIRECTS = new Set([301, 302, 307, 308]);
const MAX_REDIRECTS = 5;

const BYTE_ORDER_MARK = 0xfeff;

/** Opened on the first call, so that the call reports an unusable proxy. */
let connections: Dispatcher | undefined;

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

function toHeaderRecord(headers: RequestInit["headers"]): Record<string, string> {
  return Object.fromEntries([...new Headers(headers)].filter(([name]) => ALLOWED.has(name)));
}

/**
 * Sends one request and returns its reply. Uses undici's dispatcher, which takes a fifth of the time of `fetch`. Most
 * of `fetch`'s time goes into streams, and replies are read completely here.
 *
 * @throws the signal's reason, a `timeout` ModelError, or a network error like those of the platform's fetch
 */
async function sendRequest(url: string, request: HttpRequest, options: HttpOptions): Promise<WholeReply> {
  options.signal.throwIfAborted();
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const reply = await dispatch(at, request, options);
    // The headers are read only for a redirect, because that takes time.
    const target = REDIRECTS.has(reply.status) ? redirectTarget(at, reply.headers, reply.status, redirects) : null;
    if (target === null) return reply;
    await reply.bytes;
    at = target;
  }
}

/**
 * Returns the URL that a reply redirects to, or null if it is not a redirect that repeats the request. Follows
 * redirects only within one origin, because the key and the prompt are meant for the user's chosen server.
 *
 * @param redirects number of redirects before this one
 */
export function redirectTarget(from: string, headers: Headers, status: number, redirects: number): string | null {
  const location = REDIRECTS.has(status) ? headers.get("location") : null;
  if (location === null) return null;
  const to = URL.parse(location, from);
  // The error has the same kind as for an unknown address, because every further call would also fail.
  const refuse = (why: string) => new ModelError("not_found", `${status} ${why}`, { status, retryable: false });
  if (to === null) throw refuse("redirects to an invalid URL");
  if (redirects === MAX_REDIRECTS) throw refuse(`redirects more than ${MAX_REDIRECTS} times`);
  if (to.origin === new URL(from).origin) return to.href;
  throw refuse(
    `redirects to ${to.origin}. The key and the prompt are not sent there. If it is the right server, pass its URL with --base-url`,
  );
}

/** Resolves when the headers have arrived. */
function dispatch(url: string, { method, headers, body }: HttpRequest, options: HttpOptions): Promise<WholeReply> {
  const { origin, pathname, search } = new URL(url);
  // Allows one connection per running call. Each call has its own deadline, so undici's timeouts are off.
  connections ??= openConnections({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const pool = connections;
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(options, resolve, reject);
    const path = `${pathname}${search}`;
    pool.dispatch({ origin, path, method, headers, body }, handler);
  });
}

/**
 * Collects one reply. Status and headers resolve immediately, and the body resolves when complete. Implements the
 * deadline itself, because an AbortSignal per call uses 5% of the event-loop time of a call.
 */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private readonly chunks: Buffer[] = [];
  private length = 0;
  private readonly timer: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | null = null;
  private stopped: Error | null = null;
  private finish: (body: Buffer) => void = () => {};
  private fail: (error: Error) => void;

  constructor(
    private readonly options: HttpOptions,
    private readonly resolve: (reply: WholeReply) => void,
    reject: (error: Error) => void,
  ) {
    this.fail = reject;
    const { signal, timeoutMs } = options;
    signal.addEventListener("abort", this.abort, { once: true });
    if (timeoutMs !== null) this.timer = setTimeout(() => this.stop(timeoutError(timeoutMs)), timeoutMs);
  }

  private readonly abort = (): void => this.stop(this.options.signal.reason as Error);

  /** Rejects immediately, even while connecting. */
  private stop(why: Error): void {
    this.stopped = why;
    this.end();
    this.fail(why);
    this.controller?.abort(why);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.options.signal.removeEventListener("abort", this.abort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.stopped !== null) controller.abort(this.stopped);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders): void {
    // An informational response before the reply, such as 103 Early Hints.
    if (status < 200) return;
    const body = new Promise<Buffer>((finish, fail) => {
      this.finish = finish;
      this.fail = fail;
    });
    // The body might fail after the caller has stopped listening.
    body.catch(() => undefined);
    this.resolve(new WholeReply(status, headers, body));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length > MAX_BYTES) this.stop(replyTooLarge());
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.end();
    const [first] = this.chunks;
    const body = this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks);
    this.finish(body);
  }

  /** Wraps the error like the platform's fetch, because `toModelError` recognizes that form. */
  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end();
    this.fail(new TypeError("fetch failed", { cause: error }));
  }
}

class WholeReply {
  readonly ok: boolean;
  private read: Headers | null = null;

  constructor(
    readonly status: number,
    private readonly received: ReceivedHeaders,
    readonly bytes: Promise<Buffer>,
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

  async text(): Promise<string> {
    const bytes = await this.bytes;
    // Compression is never requested, but some proxies use it anyway.
    const encoding = "content-encoding" in this.received ? this.headers.get("content-encoding") : null;
    const decode = DECODERS[encoding?.trim().toLowerCase() ?? ""];
    const text = (decode === undefined ? bytes : await decompress(decode, bytes)).toString("utf8");
    return this.ok ? replyText(text, this.status) : text;
  }
}

/** Returns a successful reply's text without a byte order mark. Throws a ModelError if it is a web page. */
export function replyText(text: string, status: number): string {
  if (WEB_PAGE.test(text)) throw new ModelError("protocol", ANSWERED_WEB_PAGE, { status, retryable: false });
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

/** The start of an HTML page, which means that the address does not belong to an API or requires a login first. */
const WEB_PAGE = /^\s*<(?:!doctype\s+html|html)\b/i;

async function decompress(decode: (typeof DECODERS)[string], bytes: Buffer): Promise<Buffer> {
  try {
    return await decode(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw replyTooLarge();
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
    const options = { signal: signal ?? new AbortController().signal, timeoutMs: null };
    const reply = await sendRequest(url, request, options);
    const { status, headers } = reply;
    return new Response(WITHOUT_BODY.has(status) ? null : ReadableStream.from(bodyOf(reply)), { status, headers });
  };
}

/** If the body breaks off, the error appears when the SDK reads it. */
async function* bodyOf(reply: WholeReply): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(await reply.text());
}

/**
 * Runs `work` with a deadline. When it expires, rejects immediately with the outer signal's reason or a `timeout`
 * ModelError. Avoids Promise.race, which would create three more promises per call.
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const deadline = openDeadline(signal, timeoutMs, () => timeoutError(timeoutMs));
  const inner = deadline.signal;
  try {
    return await new Promise<T>((resolve, reject) => {
      inner.addEventListener("abort", () => reject(inner.reason), { once: true });
      // An SDK might reject first with its own abort error.
      work(inner).then(resolve, (error) => reject(inner.aborted ? inner.reason : error));
    });
  } finally {
    deadline.close();
  }
}

function timeoutError(timeoutMs: number): ModelError {
  return new ModelError("timeout", `no complete reply within ${timeoutMs / 1000} s`, { retryable: true });
}

/** Many times the size of any model's longest reply. A larger reply indicates a faulty server. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Not retryable, because a retry would be billed again and probably be just as large. */
function replyTooLarge(): ModelError {
  return new ModelError("protocol", `the reply is larger than ${MAX_BYTES / 1024 / 1024} MB`, { retryable: false });
}
