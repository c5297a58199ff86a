// Encodes spans in batches that fit into a request, truncating what is too large.
import protobuf from "protobufjs/light.js";
import type { FinishReason } from "../../models/model.js";

/** Maximum bytes of spans per request. Many servers accept at most 4 MiB, including the rest of the request. */
export const MAX_BATCH_BYTES = 4_000_000;

const REQUEST_OVERHEAD_BYTES = 10_000;

/** Bytes for the tag and length of a span in a request. */
const SPAN_OVERHEAD_BYTES = 8;

/** Attribute that lists the attributes that were left out because the span was too large. */
export const LEFT_OUT = "art_e.left_out";

/** Encoded spans for one request. */
export interface SpanBatch {
  readonly spans: readonly Uint8Array[];
  /** Number of spans with attributes left out because they would not fit into a request. */
  readonly shortened: number;
}

export type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } };

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

export interface SpanEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly KeyValue[];
}

/** The source of spans, which is the same for all of art-e's spans. */
export interface SpanSource {
  readonly resource: { readonly attributes: readonly KeyValue[] };
  readonly scope: { readonly name: string; readonly version: string };
  readonly schemaUrl: string;
}

export const SPAN_KIND = { internal: 1, client: 3 } as const;

export const STATUS_ERROR = 2;

/**
 * A span in OTLP's JSON encoding (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), limited to the
 * fields that art-e writes. 64-bit numbers are strings.
 */
export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Absent for the root span. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events?: readonly SpanEvent[];
  /** Absent if the status is unset. */
  readonly status?: { readonly code: typeof STATUS_ERROR; readonly message: string };
}

/** Collects spans into batches that fit into a request. */
export class SpanBatcher {
  private spans: Uint8Array[] = [];
  private bytes = 0;
  private shortened = 0;

  /** Yields the batches that are full. */
  *add(spans: readonly Span[]): Generator<SpanBatch> {
    const room = MAX_BATCH_BYTES - REQUEST_OVERHEAD_BYTES;
    for (const span of spans) {
      const { bytes, isShortened } = encodeWithin(span, room - SPAN_OVERHEAD_BYTES);
      const size = bytes.length + SPAN_OVERHEAD_BYTES;
      if (this.bytes + size > room) yield* this.flush();
      this.spans.push(bytes);
      this.bytes += size;
      if (isShortened) this.shortened++;
    }
  }

  /** Yields the remaining spans as one batch. */
  *flush(): Generator<SpanBatch> {
    const { spans, shortened } = this;
    [this.spans, this.bytes, this.shortened] = [[], 0, 0];
    if (spans.length > 0) yield { spans, shortened };
  }
}

/** Encodes a span. If it is too large, leaves out its largest attributes, and then its events. */
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

/** Providers that have a different name in the GenAI conventions. */
const CONVENTIONAL_PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Placeholder for the unknown provider of a model. */
const UNKNOWN_PROVIDER = "unknown";

/** Splits `provider/name` into the two attributes of the GenAI conventions. */
export function conventionalModel(id: string): { readonly provider: string; readonly model: string } {
  const slash = id.indexOf("/");
  if (slash <= 0) return { provider: UNKNOWN_PROVIDER, model: id };
  const provider = id.slice(0, slash);
  return { provider: CONVENTIONAL_PROVIDERS[provider] ?? provider, model: id.slice(slash + 1) };
}

/** Reverses `conventionalModel`. */
export function modelId(provider: string | undefined, model: string): string {
  if (provider === undefined || provider === UNKNOWN_PROVIDER) return model;
  const ours = Object.entries(CONVENTIONAL_PROVIDERS).find(([, name]) => name === provider)?.[0];
  return `${ours ?? provider}/${model}`;
}

/** The conventions use `tool_call` and `content_filter` instead of `tool_calls` and `refusal`. */
const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  tool_calls: "tool_call",
  length: "length",
  refusal: "content_filter",
  broken_call: "error",
  other: "other",
};

export function conventionalFinishReason(reason: FinishReason): string {
  return FINISH_REASONS[reason];
}

/** Reverses `conventionalFinishReason`. Unknown reasons become `other`. */
export function finishReason(theirs: string | undefined): FinishReason {
  const reason = Object.entries(FINISH_REASONS).find(([ours, name]) => name === theirs || ours === theirs);
  return (reason?.[0] as FinishReason | undefined) ?? "other";
}

/** Encodes a span in protobuf. */
function encodeSpan(span: Span): Uint8Array {
  const { traceId, spanId, parentSpanId, ...others } = span;
  const message = SPAN_MESSAGE.fromObject({
    ...others,
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    ...(parentSpanId === undefined ? {} : { parentSpanId: Buffer.from(parentSpanId, "hex") }),
  });
  return SPAN_MESSAGE.encode(message).finish();
}

/** Encodes an ExportTraceServiceRequest from encoded spans. */
export function encodeRequest(source: SpanSource, spans: readonly Uint8Array[]): Uint8Array {
  const { resource, scope, schemaUrl } = source;
  const message = REQUEST_MESSAGE.fromObject({
    resourceSpans: [{ resource, scopeSpans: [{ scope, schemaUrl, spans }] }],
  });
  return REQUEST_MESSAGE.encode(message).finish();
}

/**
 * The messages of opentelemetry-proto 1.9 (https://github.com/open-telemetry/opentelemetry-proto) that are sent and
 * received, with their field numbers. Spans in a request are declared as `bytes`, which are encoded the same way. This
 * way, each span is encoded only once, and its size is known before it is added to a request.
 */
const root = protobuf.Root.fromJSON({
  nested: {
    Request: { fields: { resourceSpans: { rule: "repeated", type: "ResourceSpans", id: 1 } } },
    ResourceSpans: {
      fields: {
        resource: { type: "Resource", id: 1 },
        scopeSpans: { rule: "repeated", type: "ScopeSpans", id: 2 },
      },
    },
    Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
    ScopeSpans: {
      fields: {
        scope: { type: "Scope", id: 1 },
        spans: { rule: "repeated", type: "bytes", id: 2 },
        schemaUrl: { type: "string", id: 3 },
      },
    },
    Scope: { fields: { name: { type: "string", id: 1 }, version: { type: "string", id: 2 } } },
    Span: {
      fields: {
        traceId: { type: "bytes", id: 1 },
        spanId: { type: "bytes", id: 2 },
        parentSpanId: { type: "bytes", id: 4 },
        name: { type: "string", id: 5 },
        kind: { type: "uint32", id: 6 },
        startTimeUnixNano: { type: "fixed64", id: 7 },
        endTimeUnixNano: { type: "fixed64", id: 8 },
        attributes: { rule: "repeated", type: "KeyValue", id: 9 },
        events: { rule: "repeated", type: "Event", id: 11 },
        status: { type: "Status", id: 15 },
      },
    },
    Event: {
      fields: {
        timeUnixNano: { type: "fixed64", id: 1 },
        name: { type: "string", id: 2 },
        attributes: { rule: "repeated", type: "KeyValue", id: 3 },
      },
    },
    Status: { fields: { message: { type: "string", id: 2 }, code: { type: "uint32", id: 3 } } },
    KeyValue: { fields: { key: { type: "string", id: 1 }, value: { type: "AnyValue", id: 2 } } },
    AnyValue: {
      oneofs: { value: { oneof: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue"] } },
      fields: {
        stringValue: { type: "string", id: 1 },
        boolValue: { type: "bool", id: 2 },
        intValue: { type: "int64", id: 3 },
        doubleValue: { type: "double", id: 4 },
        arrayValue: { type: "ArrayValue", id: 5 },
      },
    },
    ArrayValue: { fields: { values: { rule: "repeated", type: "AnyValue", id: 1 } } },
    Response: { fields: { partialSuccess: { type: "PartialSuccess", id: 1 } } },
    PartialSuccess: { fields: { rejectedSpans: { type: "int64", id: 1 }, errorMessage: { type: "string", id: 2 } } },
    /** google.rpc.Status, the body of an error. */
    RpcStatus: { fields: { code: { type: "int32", id: 1 }, message: { type: "string", id: 2 } } },
  },
});

const SPAN_MESSAGE = root.lookupType("Span");
const REQUEST_MESSAGE = root.lookupType("Request");
export const RESPONSE_MESSAGE = root.lookupType("Response");
export const RPC_STATUS_MESSAGE = root.lookupType("RpcStatus");
