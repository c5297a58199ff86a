// Posts spans, and scores to servers that have an API for them, with retries.
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import pLimit from "p-limit";
import { z } from "zod";
import { sentenceIn } from "../../models/provider-errors.js";
import { chunk } from "../../platform/batches.js";
import { stripControls } from "../../platform/control-characters.js";
import { openDeadline } from "../../platform/deadline.js";
import { UserError } from "../../platform/errors.js";
import { connectionFault, requestedWait } from "../../platform/http.js";
import { parseJsonOrNull } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { proxiedFetch } from "../../platform/proxied-fetch.js";
import { retry } from "../../platform/retry-delay.js";
import { redact } from "../../platform/secrets.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import type { OtlpServer, ScoreApi } from "../otlp-endpoint.js";
import {
  encodeRequest,
  RESPONSE_MESSAGE,
  RPC_STATUS_MESSAGE,
  type Span,
  type SpanBatch,
  SpanBatcher,
} from "./otlp-encode.js";
import { type ScoreRecord, spanSource } from "./otlp-write.js";

/** Destination of scores. The server and the keys are the same as for spans. */
export interface ScoreDestination {
  readonly api: ScoreApi;
  readonly server: OtlpServer;
}

/** Result of sending spans. */
export interface Delivery {
  readonly delivered: number;
  /** Number of spans that the server received but rejected. */
  readonly rejected: number;
  /** Number of spans sent without their largest attributes, because a request can contain at most 4 MB. */
  readonly shortened: number;
  /** Distinct messages in the server's replies to accepted requests. */
  readonly messages: readonly string[];
}

interface HttpAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Annotations per request to Phoenix. */
const AT_ONCE = 200;

/** Concurrent requests to Langfuse, which accepts one score per request. */
const REQUESTS_AT_ONCE = 8;

/** @throws UserError if the score URL cannot be derived from the URL for spans */
export function scoreDestination(api: ScoreApi, server: OtlpServer): ScoreDestination {
  const [pattern, path] =
    api === "langfuse"
      ? [/\/api\/public\/otel\/v1\/traces$/, "/api/public/scores"]
      : [/\/v1\/traces$/, "/v1/trace_annotations"];
  const url = new URL(server.url);
  if (!pattern.test(url.pathname)) {
    throw new UserError(
      "scores_url_invalid",
      `--scores ${api}: ${url.origin}${url.pathname} is not the URL at which ${api} receives spans.`,
      api === "langfuse"
        ? "Use https://cloud.langfuse.com/api/public/otel, or the same path on your own server."
        : "Use http://localhost:6006, or the base URL of your own server.",
    );
  }
  url.pathname = url.pathname.replace(pattern, path);
  return { api, server: { ...server, url: url.href } };
}

/**
 * Sends scores and returns their number. A resent score replaces the score with the same trace and name.
 *
 * @throws NotDelivered, or the signal's reason
 */
export async function deliverScores(
  { api, server }: ScoreDestination,
  scores: readonly ScoreRecord[],
  signal: AbortSignal,
): Promise<number> {
  const bodies: readonly object[] =
    api === "langfuse" ? scores.map(langfuseScore) : [...chunk(scores, AT_ONCE)].map(phoenixAnnotations);
  const upload = new AbortController();
  const stop = AbortSignal.any([signal, upload.signal]);
  try {
    await pLimit(REQUESTS_AT_ONCE).map(bodies, (body) => {
      return postRequest(server, { "content-type": "application/json" }, Buffer.from(toWellFormedJson(body)), stop);
    });
    return scores.length;
  } finally {
    // After one request is refused, the others are not needed.
    upload.abort();
  }
}

function langfuseScore({ traceId, name, value, explanation }: ScoreRecord) {
  return {
    id: `${traceId}-${name}`,
    traceId,
    name,
    value,
    dataType: "NUMERIC",
    ...presentProperties({ comment: explanation }),
  };
}

function phoenixAnnotations(scores: readonly ScoreRecord[]) {
  return {
    data: scores.map(({ traceId, name, value, explanation, byModel }) => ({
      trace_id: traceId,
      name,
      annotator_kind: byModel ? "LLM" : "CODE",
      result: { score: value, ...presentProperties({ explanation }) },
    })),
  };
}

export const NO_DELIVERY: Delivery = { delivered: 0, rejected: 0, shortened: 0, messages: [] };

export function addDelivery(a: Delivery, b: Delivery): Delivery {
  return {
    delivered: a.delivered + b.delivered,
    rejected: a.rejected + b.rejected,
    shortened: a.shortened + b.shortened,
    messages: [...new Set([...a.messages, ...b.messages])].slice(0, MAX_MESSAGES),
  };
}

const MAX_MESSAGES = 5;

/**
 * Sends one batch.
 * @throws NotDelivered, or the signal's reason
 */
export async function deliverBatch(server: OtlpServer, batch: SpanBatch, signal: AbortSignal): Promise<Delivery> {
  signal.throwIfAborted();
  const { spans, shortened } = batch;
  const bytes = await compress(encodeRequest(spanSource(), spans));
  const answer = await postRequest(server, GZIPPED_PROTOBUF, bytes, signal);
  const { rejectedSpans, errorMessage } = readPartialSuccess(answer);
  const rejected = Math.min(rejectedSpans, spans.length);
  const message = oneLine(errorMessage);
  return { delivered: spans.length - rejected, rejected, shortened, messages: message === "" ? [] : [message] };
}

const compress = promisify(gzip);

/** OTLP receivers accept gzip, but other routes on the same server might not. */
const GZIPPED_PROTOBUF = { "content-type": "application/x-protobuf", "content-encoding": "gzip" };

/**
 * Sends the spans of many traces in batches. Calls `onDelivered` with the totals after each batch.
 *
 * @throws NotDelivered for the first refused batch. The batches before it have been delivered.
 */
export async function deliverSpans(
  server: OtlpServer,
  traces: Iterable<readonly Span[]>,
  signal: AbortSignal,
  onDelivered: (sum: Delivery) => void,
): Promise<Delivery> {
  const batcher = new SpanBatcher();
  let sum = NO_DELIVERY;
  function* batches(): Generator<SpanBatch> {
    for (const spans of traces) yield* batcher.add(spans);
    yield* batcher.flush();
  }
  for (const batch of batches()) {
    sum = addDelivery(sum, await deliverBatch(server, batch, signal));
    onDelivered(sum);
  }
  return sum;
}

/** A request that the server did not accept. The message is a clause for the user and contains no key. */
export class NotDelivered extends Error {
  override readonly name = "NotDelivered";

  constructor(
    message: string,
    /**
     * True for OTLP's retryable cases: 429, 502, 503, 504 and lost connections
     * (https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes).
     */
    readonly retryable: boolean,
    readonly retryAfterMs: number | null = null,
    readonly status: number | null = null,
  ) {
    super(message);
  }
}

const RETRYABLE_STATUS = new Set([429, 502, 503, 504]);

const REQUEST_TIMEOUT_MS = 30_000;

/** Maximum bytes to read from a response. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Posts a body, with the retries that the policy allows.
 *
 * @throws NotDelivered, or the signal's reason
 */
async function postRequest(
  server: OtlpServer,
  headers: OtlpServer["headers"],
  body: Uint8Array,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  signal.throwIfAborted();
  return retry(() => post(server, headers, body, signal), {
    policy: server.retry,
    signal,
    failureOf: (error) => (error instanceof NotDelivered ? error : null),
  });
}

async function post(
  server: OtlpServer,
  ofBody: OtlpServer["headers"],
  payload: Uint8Array,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { url, headers } = server;
  const late = () => new NotDelivered(`no response within ${REQUEST_TIMEOUT_MS / 1000} seconds`, true);
  const deadline = openDeadline(signal, REQUEST_TIMEOUT_MS, late);
  try {
    // Redirects are not followed, because the keys are only for the server that the user specified.
    const response = await proxiedFetch(url, {
      method: "POST",
      headers: { "user-agent": "art-e", ...(isLangfuse(url) ? LANGFUSE_HEADERS : {}), ...headers, ...ofBody },
      body: new Uint8Array(payload),
      redirect: "manual",
      signal: deadline.signal,
    }).catch((error: unknown) => {
      deadline.signal.throwIfAborted();
      throw notConnected(error);
    });
    const contentType = response.headers.get("content-type") ?? "";
    const body = await readBody(response);
    signal.throwIfAborted();
    if (response.ok) return { contentType, body };
    throw notAccepted(response, { contentType, body }, headers);
  } finally {
    deadline.close();
  }
}

function notAccepted(response: Response, answer: HttpAnswer, headers: OtlpServer["headers"]): NotDelivered {
  const refusal = redact(oneLine(readRefusal(answer)), secretsIn(headers));
  const { status } = response;
  const isRedirect = status >= 300 && status < 400;
  const details = isRedirect
    ? ", which is a redirect: use the URL that it redirects to"
    : refusal === ""
      ? ""
      : `: ${refusal}`;
  const retryAfterMs = requestedWait(response.headers);
  return new NotDelivered(
    `the server returned ${status}${details}`,
    RETRYABLE_STATUS.has(status),
    retryAfterMs,
    status,
  );
}

/** Langfuse's cloud shows spans without this header only after minutes (langfuse.com, migration to v4). */
const LANGFUSE_HEADERS = { "x-langfuse-ingestion-version": "4" };

const isLangfuse = (url: string | URL) => String(url).includes("/api/public/otel");

/** Returns the header values, and the part after a word such as Basic or Bearer. */
function secretsIn(headers: OtlpServer["headers"]): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).slice(1)]);
}

/** Ignores an incomplete body, because the status alone determines the result. */
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
  const { message, retryable } = connectionFault(error as Error);
  return new NotDelivered(message, retryable);
}

/** 64-bit numbers are strings in JSON. */
const partialSuccessSchema = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.coerce.number().int().nonnegative().default(0), errorMessage: z.string().default("") })
    .nullish(),
});

const LONGEST_MESSAGE = 200;

/** Ignores an unreadable body, because the status shows that the spans were accepted. */
function readPartialSuccess(answer: HttpAnswer): { readonly rejectedSpans: number; readonly errorMessage: string } {
  const read = partialSuccessSchema.safeParse(decode(RESPONSE_MESSAGE, answer));
  return read.data?.partialSuccess ?? { rejectedSpans: 0, errorMessage: "" };
}

/** Returns the error message from the body of a refusal, or an empty string if the body is unreadable. */
function readRefusal(answer: HttpAnswer): string {
  const text = /html|protobuf/.test(answer.contentType) ? "" : answer.body.toString("utf8");
  return sentenceIn(decode(RPC_STATUS_MESSAGE, answer)) ?? text;
}

/** Decodes a message from protobuf or JSON. Returns null if it cannot be read. */
function decode(message: typeof RESPONSE_MESSAGE, { contentType, body }: HttpAnswer): unknown {
  if (!contentType.includes("protobuf")) return parseJsonOrNull(body.toString("utf8"));
  try {
    return message.toObject(message.decode(body), { longs: String });
  } catch {
    return null;
  }
}

function oneLine(text: string): string {
  return stripControls(text.trim().replace(/\s+/g, " ")).slice(0, LONGEST_MESSAGE);
}
