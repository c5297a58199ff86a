import { encodeRequest } from "./encode-request.js";
import { type OtlpServer, postRequest } from "./post-request.js";
import { readPartialSuccess } from "./read-response.js";
import { type SpanBatch, SpanBatcher } from "./span-batches.js";
import type { Span, SpanSource } from "./traces-data.js";

/** What became of spans. */
export interface Delivery {
  readonly delivered: number;
  /** Those that the server took note of and did not keep. */
  readonly rejected: number;
  /** Those that lack their largest attributes, as a request holds 4 MB. */
  readonly shortened: number;
  /** What the server said of requests that it took, each once. */
  readonly messages: readonly string[];
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

/** Where spans of one program go. */
export interface SpanDestination {
  readonly server: OtlpServer;
  readonly source: SpanSource;
}

/**
 * Sends one batch.
 * @throws NotDelivered, or the signal's reason
 */
export async function deliverBatch(to: SpanDestination, batch: SpanBatch, signal: AbortSignal): Promise<Delivery> {
  const { server, source } = to;
  const bytes = encodeRequest(source, batch.spans);
  const body = { contentType: "application/x-protobuf", bytes, encoding: "gzip" } as const;
  const answer = await postRequest(server, body, signal);
  const { rejectedSpans, message } = readPartialSuccess(answer.contentType, answer.body);
  const rejected = Math.min(rejectedSpans, batch.spans.length);
  return {
    delivered: batch.spans.length - rejected,
    rejected,
    shortened: batch.shortened,
    messages: message === "" ? [] : [message],
  };
}

/**
 * Sends the spans of many traces, a batch at a time. `onDelivered` hears the sum after each.
 * @throws NotDelivered for the first batch that is refused; what was sent before stays there
 */
export async function deliverSpans(
  to: SpanDestination,
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
    sum = addDelivery(sum, await deliverBatch(to, batch, signal));
    onDelivered(sum);
  }
  return sum;
}
