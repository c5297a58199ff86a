import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { redact } from "../domain/redact.js";
import { connectionFault } from "../platform/http/connection-fault.js";
import { parseRetryAfter } from "../platform/http/retry-after.js";
import { type RetryPolicy, retry } from "../platform/retry.js";
import { readRefusal } from "./read-response.js";

/** Where telemetry goes. */
export interface OtlpServer {
  readonly url: string;
  /** With the keys, which are never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: RetryPolicy;
}

export interface HttpBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** Absent: as it is. OTLP's receivers take gzip; other routes of their servers may not. */
  readonly encoding?: "gzip";
}

export interface HttpAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}

/** A request that was not taken. The message is a clause for the user and holds no key. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";

  constructor(
    message: string,
    /** As OTLP has it: 429, 502, 503, 504 and lost connections. */
    readonly retryable: boolean,
    readonly retryAfterMs: number | null = null,
    readonly status: number | null = null,
  ) {
    super(message);
  }
}

const RETRYABLE_STATUS = new Set([429, 502, 503, 504]);

const REQUEST_TIMEOUT_MS = 30_000;

/** Of an answer; more says nothing. */
const MAX_ANSWER_BYTES = 65_536;

const compress = promisify(gzip);

/**
 * Posts a body, again and again as the policy allows.
 * @throws NotDelivered, or the signal's reason
 */
export async function postRequest(server: OtlpServer, body: HttpBody, signal: AbortSignal): Promise<HttpAnswer> {
  signal.throwIfAborted();
  const bytes = body.encoding === undefined ? body.bytes : await compress(body.bytes);
  return retry(() => post(server, { ...body, bytes }, signal), {
    policy: server.retry,
    signal,
    failureOf: (error) => (error instanceof NotDelivered ? error : null),
  });
}

async function post(server: OtlpServer, sent: HttpBody, signal: AbortSignal): Promise<HttpAnswer> {
  const { url, headers } = server;
  // A redirect is not followed: the keys are meant for the server that the user named.
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "user-agent": "art-e",
      ...headers,
      "content-type": sent.contentType,
      ...(sent.encoding === undefined ? {} : { "content-encoding": sent.encoding }),
    },
    body: new Uint8Array(sent.bytes),
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw notConnected(error);
  });
  const contentType = response.headers.get("content-type") ?? "";
  const body = await readBody(response);
  signal.throwIfAborted();
  if (response.ok) return { contentType, body };
  const said = redact(readRefusal(contentType, body), secretsIn(headers));
  const { status } = response;
  const isRedirect = status >= 300 && status < 400;
  const details = isRedirect
    ? ", which is a redirect: name the address that it leads to"
    : said === ""
      ? ""
      : `: ${said}`;
  const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"));
  throw new NotDelivered(`the server answered ${status}${details}`, RETRYABLE_STATUS.has(status), retryAfterMs, status);
}

/** Whole values, and what follows a word such as Basic or Bearer. */
function secretsIn(headers: OtlpServer["headers"]): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).slice(1)]);
}

/** The status counts even where the body breaks off. */
async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) break;
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(chunks);
}

function notConnected(error: unknown): NotDelivered {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new NotDelivered(`no answer within ${REQUEST_TIMEOUT_MS / 1000} seconds`, true);
  }
  const { message, retryable } = connectionFault(error as Error);
  return new NotDelivered(message, retryable);
}
