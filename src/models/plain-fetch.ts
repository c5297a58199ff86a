import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { Agent, type Dispatcher } from "undici";
import { ModelError } from "../domain/model.js";
import { boundedBody, MAX_BYTES, tooLarge } from "./bounded-body.js";

/** What a request needs; everything else an SDK would add comes from environment variables nobody handed in. */
const ALLOWED = new Set(["accept", "anthropic-version", "authorization", "content-type", "user-agent", "x-api-key"]);

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

const BYTE_ORDER_MARK = 0xfeff;

/** As many connections as there are calls under way. Calls have a deadline of their own, so there is none here. */
const connections = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** What is sent, and until when it is waited for. */
export interface PlainRequest {
  readonly method: string;
  /** By `plainHeaders`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
  readonly signal: AbortSignal | null;
}

/** A reply, of which the headers are there. */
export interface PlainReply {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Headers;
  text(): Promise<string>;
}

/**
 * A fetch as far as models need one: a JSON body there, the whole body back. Only the headers of a plain request go with
 * it: ANTHROPIC_CUSTOM_HEADERS and OPENAI_CUSTOM_HEADERS, meant for other programs and other servers, cannot be
 * switched off in the SDKs.
 */
export const plainFetch: Fetch = async (input, init = {}) => {
  const { method = "GET", body, signal = null } = init;
  const url = input instanceof Request ? input.url : String(input);
  const request = { method, headers: plainHeaders(init.headers), body: (body ?? null) as string | null, signal };
  return (await exchange(url, request)) as unknown as Response;
};

/** Those of a plain request, checked as the platform does. */
export function plainHeaders(given: RequestInit["headers"]): Record<string, string> {
  return Object.fromEntries([...new Headers(given)].filter(([name]) => ALLOWED.has(name)));
}

/**
 * One request and its reply. Made on undici's dispatcher, which takes a fifth of the time of its `fetch`: the platform's
 * spends most of it on streams that nobody reads piece by piece here.
 */
export async function exchange(url: string, request: PlainRequest): Promise<PlainReply> {
  request.signal?.throwIfAborted();
  const reply = await dispatch(url, request);
  // Rare enough to leave the rules of it, which headers may follow whom, to the platform.
  if (reply.status >= 300 && reply.status < 400 && reply.headers.has("location")) {
    await reply.bytes;
    return boundedBody(await fetch(url, { ...request, headers: { ...request.headers } }));
  }
  return reply;
}

/** Resolves when the headers are there. */
function dispatch(url: string, { method, headers, body, signal }: PlainRequest): Promise<WholeReply> {
  const { origin, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(url, signal, resolve, reject);
    const options = { origin, path: `${pathname}${search}`, method: method as Dispatcher.HttpMethod, headers, body };
    connections.dispatch(options, handler);
  });
}

/** Gathers one reply: its status and headers are given away at once, its body when it is whole. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private readonly chunks: Buffer[] = [];
  private length = 0;
  private controller: Dispatcher.DispatchController | null = null;
  private finish: (body: Buffer) => void = () => {};
  private fail: (error: Error) => void;

  constructor(
    private readonly url: string,
    private readonly signal: AbortSignal | null,
    private readonly resolve: (reply: WholeReply) => void,
    reject: (error: Error) => void,
  ) {
    this.fail = reject;
    signal?.addEventListener("abort", this.abort, { once: true });
  }

  private readonly abort = (): void => {
    const reason = this.signal?.reason as Error;
    // Nobody waits for a connection that is still being made.
    if (this.controller === null) this.fail(reason);
    else this.controller.abort(reason);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.signal?.aborted) this.abort();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders): void {
    // Something like 103 Early Hints, before the reply.
    if (status < 200) return;
    const body = new Promise<Buffer>((finish, fail) => {
      this.finish = finish;
      this.fail = fail;
    });
    // Who asked may have turned away before it fails.
    body.catch(() => undefined);
    this.resolve(new WholeReply(this.url, status, headers, body));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length > MAX_BYTES) controller.abort(tooLarge());
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.signal?.removeEventListener("abort", this.abort);
    const [first] = this.chunks;
    this.finish(this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks));
  }

  /** In the platform's words: what went wrong on the wire has a hundred names, and whoever tells faults apart knows these. */
  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.signal?.removeEventListener("abort", this.abort);
    const isOurs = this.signal?.aborted === true || error instanceof ModelError;
    this.fail(isOurs ? error : new TypeError("fetch failed", { cause: error }));
  }
}

type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The members of a Response that the SDKs read. */
class WholeReply implements PlainReply {
  readonly statusText = "";
  readonly ok: boolean;
  /** For those who would cancel it: it is read whole or not at all. */
  readonly body = null;
  private read: Headers | null = null;

  constructor(
    readonly url: string,
    readonly status: number,
    private readonly received: ReceivedHeaders,
    readonly bytes: Promise<Buffer>,
  ) {
    this.ok = status >= 200 && status < 300;
  }

  /** Made when they are asked for: of most replies nobody wants to know more than the body. */
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
    // Not asked for; some proxies compress all the same.
    const encoding = "content-encoding" in this.received ? this.headers.get("content-encoding") : null;
    const decode = DECODERS[encoding?.trim().toLowerCase() ?? ""];
    const text = (decode === undefined ? bytes : await unpacked(decode, bytes)).toString("utf8");
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

async function unpacked(decode: (typeof DECODERS)[string], bytes: Buffer): Promise<Buffer> {
  try {
    return await decode(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
    throw new ModelError("protocol", "the reply cannot be unpacked, or was cut off", { retryable: true });
  }
}
