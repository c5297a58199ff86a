import { encodeSpan } from "./encode-request.js";
import type { KeyValue, Span } from "./traces-data.js";

/** Under the 4 MiB that many servers take at most, with room for what a request holds besides spans. */
export const MAX_BATCH_BYTES = 4_000_000;

const REQUEST_OVERHEAD_BYTES = 10_000;

/** Tag and length of a span in a request. */
const SPAN_OVERHEAD_BYTES = 8;

/** The names of attributes that a span was too large for. */
export const LEFT_OUT = "art_e.left_out";

/** Encoded spans that make one request. */
export interface SpanBatch {
  readonly spans: readonly Uint8Array[];
  /** How many of them lack attributes, as they would not fit into a request. */
  readonly shortened: number;
}

/** Gathers spans into batches that fit into a request. */
export class SpanBatcher {
  private spans: Uint8Array[] = [];
  private bytes = 0;
  private shortened = 0;

  constructor(private readonly maxBytes = MAX_BATCH_BYTES) {}

  /** The batches that are full now. */
  *add(spans: readonly Span[]): Generator<SpanBatch> {
    const room = this.maxBytes - REQUEST_OVERHEAD_BYTES;
    for (const span of spans) {
      const { bytes, isShortened } = encodeWithin(span, room - SPAN_OVERHEAD_BYTES);
      const size = bytes.length + SPAN_OVERHEAD_BYTES;
      if (this.bytes + size > room) yield* this.flush();
      this.spans.push(bytes);
      this.bytes += size;
      if (isShortened) this.shortened++;
    }
  }

  /** What is left, as a batch of its own. */
  *flush(): Generator<SpanBatch> {
    const { spans, shortened } = this;
    [this.spans, this.bytes, this.shortened] = [[], 0, 0];
    if (spans.length > 0) yield { spans, shortened };
  }
}

/** Leaves out the largest attributes, and then the events, of a span that is too large. */
function encodeWithin(span: Span, room: number): { readonly bytes: Uint8Array; readonly isShortened: boolean } {
  let bytes = encodeSpan(span);
  let { attributes } = span;
  const leftOut: string[] = [];
  while (bytes.length > room && attributes.length > 0) {
    const largest = attributes.reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a));
    leftOut.push(largest.key);
    attributes = attributes.filter((attribute) => attribute !== largest);
    bytes = encodeSpan({ ...span, attributes: [...attributes, namesOf(leftOut)] });
  }
  if (bytes.length > room) bytes = encodeSpan({ ...withoutTexts(span), attributes: [namesOf(leftOut)] });
  return { bytes, isShortened: leftOut.length > 0 };
}

function sizeOf({ value }: KeyValue): number {
  return JSON.stringify(value).length;
}

function namesOf(keys: readonly string[]): KeyValue {
  return { key: LEFT_OUT, value: { arrayValue: { values: keys.map((stringValue) => ({ stringValue })) } } };
}

const LONGEST_NAME = 1_000;

function withoutTexts({ events, status, ...span }: Span): Span {
  const cut = { ...span, name: span.name.slice(0, LONGEST_NAME) };
  return status === undefined ? cut : { ...cut, status: { ...status, message: status.message.slice(0, LONGEST_NAME) } };
}
