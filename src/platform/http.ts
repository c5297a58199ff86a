// HTTP as client and server: URLs, GET with retries and redirects, rate limit headers, and checks of host and origin.
import { createHash, timingSafeEqual } from "node:crypto";
import type { z } from "zod";
import { firstIssue } from "./json.js";
import { proxiedFetch } from "./proxied-fetch.js";
import { type RetryPolicy, retry } from "./retry-delay.js";

interface ConnectionFault {
  /** Never empty. */
  readonly message: string;
  /** Whether another attempt could succeed, such as after a refused or reset connection. */
  readonly retryable: boolean;
}

/** Returns an http or https URL without a user name or password, or null for any other text. */
export function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
  return url;
}

/**
 * Returns a URL that paths can be appended to: like `parseHttpUrl`, without a query or fragment. Null for any other
 * text.
 */
export function parseServerUrl(text: string): URL | null {
  const url = parseHttpUrl(text);
  return url === null || url.search !== "" || url.hash !== "" ? null : url;
}

/** Access control for servers on this machine, by Host, Origin and bearer token. */

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/**
 * Returns whether a request's Host header is allowed. A server on a loopback address accepts only loopback names.
 * Otherwise a page could make its own name resolve to this machine (DNS rebinding) and then count as same-origin.
 */
export function isAllowedHost(listenHost: string, hostHeader: string | undefined): boolean {
  return !isLoopback(listenHost) || isLoopback(parseHost(hostHeader)?.hostname ?? "");
}

/** Returns whether the page in a browser's Origin header was served by the server in the Host header. */
export function isOwnOrigin(origin: string, hostHeader: string | undefined): boolean {
  const page = URL.parse(origin);
  const server = parseHost(hostHeader);
  if (page === null || server === null) return false;
  // Behind a proxy that terminates TLS, the scheme differs.
  if (page.host === hostHeader?.toLowerCase()) return true;
  const isHttpLoopback = page.protocol === "http:" && isLoopback(page.hostname) && isLoopback(server.hostname);
  return isHttpLoopback && page.port === server.port;
}

/**
 * Returns a check of an Authorization header for `Bearer TOKEN`, in a time independent of the number of correct
 * characters.
 */
export function bearerTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(token);
  return (authorization) => {
    const [, bearerToken = ""] = /^Bearer +(\S+)\s*$/i.exec(authorization ?? "") ?? [];
    return timingSafeEqual(digest(bearerToken), expected);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function parseHost(hostHeader: string | undefined): URL | null {
  return hostHeader === undefined || hostHeader === "" ? null : URL.parse(`http://${hostHeader}`);
}

const RETRYABLE_STATUS = new Set([408, 425, 429]);

/**
 * Sends one GET request. Resolves to a 2xx response, or 416 for a range. Any other status or a network error is a
 * `RequestFailed`. Follows redirects; fetch removes the Authorization header for another origin.
 */
export async function get(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const response = await withNetworkErrors(() => proxiedFetch(url, { headers, signal, redirect: "follow" }), signal);
  if (response.ok || response.status === 416) return response;
  await response.body?.cancel();
  throw new RequestFailed(describeStatus(response), {
    status: response.status,
    retryable: response.status >= 500 || RETRYABLE_STATUS.has(response.status),
    retryAfterMs: requestedWait(response.headers),
  });
}

/** Returns the headers for a server's token, or none if it is null. */
export function authorization(token: string | null): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Maximum size of a JSON response in bytes. */
const MAX_JSON_BYTES = 32_000_000;

/** Returns a JSON document that matches the schema, with the response headers. */
export async function getJson<T>(
  url: string,
  headers: Record<string, string>,
  schema: z.ZodType<T>,
  policy: RetryPolicy,
  signal: AbortSignal,
): Promise<{ value: T; headers: Headers }> {
  return retryRequest(
    async () => {
      const response = await get(url, headers, signal);
      const text = await withNetworkErrors(() => readText(response.body, MAX_JSON_BYTES, tooLongJson), signal);
      return { value: parseJson(text, schema), headers: response.headers };
    },
    policy,
    signal,
  );
}

const tooLongJson = () =>
  new RequestFailed(`the response is longer than ${MAX_JSON_BYTES} bytes`, { retryable: false });

/** Reads a body as text. Throws an error if the body is longer than `maxBytes`, without reading the rest. */
export async function readText(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
  tooLong: () => Error,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function parseJson<T>(text: string, schema: z.ZodType<T>): T {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new RequestFailed("the response is not JSON", { retryable: false, cause });
  }
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new RequestFailed(`the response is invalid: ${firstIssue(parsed.error)}`, {
    retryable: false,
    cause: parsed.error,
  });
}

/** Converts fetch's TypeErrors (refused, reset, closed early) to a `RequestFailed`, and an abort to its reason. */
export async function withNetworkErrors<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await step();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TypeError)) throw error;
    const { message, retryable } = connectionFault(error);
    throw new RequestFailed(message, { retryable, cause: error });
  }
}

function describeStatus(response: Response): string {
  // The Hugging Face Hub sends its reason in this header.
  const reason = response.headers.get("x-error-message") ?? response.statusText;
  return `the server returned ${response.status}${reason === "" ? "" : ` (${reason.slice(0, 200)})`}`;
}

/** Headers with a wait, such as `retry-after` and `x-ms-retry-after-ms`. */
const WAIT_HEADER = /retry-after/;

/** Headers with the time at which a limit is reset, such as `x-ratelimit-reset-tokens`. */
const RESET_HEADER = /rate-?limit.*reset/;

/** A used-up limit, and the seconds until it is reset (draft-ietf-httpapi-ratelimit-headers): `"default";r=0;t=30`. */
const USED_UP = /;\s*r=0\s*;\s*t=(\d+)/;

/**
 * Returns the wait in milliseconds that a response requests, or null if it requests none. Without `Retry-After`, the
 * wait lasts until the limits that are used up are reset, if `isLimited`. Zero, negative and invalid waits count as
 * none, so that the usual growing waits apply.
 */
export function requestedWait(headers: Headers, isLimited = false): number | null {
  // Times are read on the server's clock, if it sends one.
  const now = Date.parse(headers.get("date") ?? "") || Date.now();
  const inMs = (name: string) => /-ms$/.test(name);
  // Servers that send milliseconds also send rounded seconds.
  const waits = [...headers].filter(([name]) => WAIT_HEADER.test(name)).sort(([a], [b]) => +inMs(b) - +inMs(a));
  for (const [name, value] of waits) {
    const wait = parseWait(value, inMs(name) ? 1 : 1000, now);
    if (wait !== null) return wait;
  }
  if (!isLimited) return null;
  const resets = [...headers].filter(([name]) => RESET_HEADER.test(name));
  const isUsedUp = ([name]: [string, string]) => Number(headers.get(name.replace("reset", "remaining")) ?? 0) <= 0;
  const times = resets.filter(isUsedUp).map(([, value]) => parseWait(value, 1000, now) ?? 0);
  const [, seconds = 0] = USED_UP.exec(headers.get("ratelimit") ?? "") ?? [];
  times.push(Number(seconds) * 1000);
  return Math.max(0, ...times) || null;
}

const DURATION =
  /^(?:(?<d>\d+) ?d(?:ays?)?,? ?)?(?:(?<h>\d+) ?h(?:ours?)?,? ?)?(?:(?<m>\d+) ?m(?!s)(?:in(?:utes?)?)?,? ?)?(?:(?<s>\d+(?:\.\d+)?) ?s(?:ec(?:onds?)?)?)?(?:(?<ms>\d+(?:\.\d+)?) ?ms)?/i;

/** Returns the milliseconds of the duration at the beginning of a text, such as `1m26.4s` or `26 seconds`, or null. */
export function durationMs(text: string): number | null {
  const { 0: whole = "", groups: { d = 0, h = 0, m = 0, s = 0, ms = 0 } = {} } = DURATION.exec(text) ?? {};
  if (whole === "") return null;
  return Number(d) * 86_400_000 + Number(h) * 3_600_000 + Number(m) * 60_000 + Number(s) * 1000 + Number(ms);
}

/**
 * Returns a wait in milliseconds, or null if there is none. Reads a number of units, a Unix time in seconds or
 * milliseconds, a duration such as `1m26.4s`, and a date. Decimals are not allowed in RFC 9110, section 10.2.3, but
 * sent.
 */
function parseWait(value: string, unit: number, now: number): number | null {
  // Two proxies can each send the header, which joins the values.
  const text = value
    .replace(/^([^,]*\d)\s*,.*/, "$1")
    .replaceAll('"', "")
    .trim();
  const number = Number(text || Number.NaN);
  // No server requests a wait of thirty years.
  const time = number > 1e12 ? number : number > 1e9 ? number * 1000 : Date.parse(text);
  const wait = number <= 1e9 ? number * unit : (durationMs(text) ?? time - now);
  return wait > 0 && wait < Number.POSITIVE_INFINITY ? wait : null;
}

/** Name resolution and certificate errors are permanent. */
const PERMANENT_ERROR_CODE = /^(ENOTFOUND|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS|ERR_INVALID_URL)/;

/** Returns the fault of a failed fetch. Its own message is "fetch failed", and the reason is in its causes. */
export function connectionFault(error: Error): ConnectionFault {
  let deepest: Error = error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  const code = "code" in deepest && typeof deepest.code === "string" ? deepest.code : "";
  // A connection tried on several IP addresses fails with an AggregateError without a message.
  const message = deepest.message || "no connection";
  return { message: code === "" ? message : `${message} (${code})`, retryable: !PERMANENT_ERROR_CODE.test(code) };
}

/** A request without a usable response. `message` is a clause for the user, without the URL. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly status: number | null;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  /** The attempt made enough progress to reset the count of consecutive failures. */
  readonly progressed: boolean;

  constructor(
    message: string,
    details: {
      retryable: boolean;
      status?: number;
      retryAfterMs?: number | null;
      progressed?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.status = details.status ?? null;
    this.retryable = details.retryable;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.progressed = details.progressed ?? false;
  }
}

/** Repeats `attempt` while it throws a retryable `RequestFailed`. Throws the signal's reason when it aborts. */
export async function retryRequest<T>(attempt: () => Promise<T>, policy: RetryPolicy, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const attemptUnlessAborted = () =>
    attempt().catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  const failureOf = (error: unknown) => (error instanceof RequestFailed ? error : null);
  return retry(attemptUnlessAborted, { policy, signal, failureOf });
}
