import { REQUEST_MESSAGE, SPAN_MESSAGE } from "./protobuf-messages.js";
import type { Span, SpanSource } from "./traces-data.js";

/** A span in protobuf. */
export function encodeSpan(span: Span): Uint8Array {
  const { traceId, spanId, parentSpanId, ...others } = span;
  const message = SPAN_MESSAGE.fromObject({
    ...others,
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    ...(parentSpanId === undefined ? {} : { parentSpanId: Buffer.from(parentSpanId, "hex") }),
  });
  return SPAN_MESSAGE.encode(message).finish();
}

/** An ExportTraceServiceRequest of spans that are encoded already. */
export function encodeRequest(source: SpanSource, spans: readonly Uint8Array[]): Uint8Array {
  const { resource, scope, schemaUrl } = source;
  const message = REQUEST_MESSAGE.fromObject({
    resourceSpans: [{ resource, scopeSpans: [{ scope, schemaUrl, spans }] }],
  });
  return REQUEST_MESSAGE.encode(message).finish();
}
