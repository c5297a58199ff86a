import protobuf from "protobufjs/light.js";
import type { FinishReason } from "../models/model.js";

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

  /** The batches that are full now. */
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

/** Providers that the GenAI conventions call otherwise. */
const CONVENTIONAL_PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Of a model whose provider is not known. */
const UNKNOWN_PROVIDER = "unknown";

/** `provider/name` as the conventions have it, in two attributes. */
export function conventionalModel(id: string): { readonly provider: string; readonly model: string } {
  const slash = id.indexOf("/");
  if (slash <= 0) return { provider: UNKNOWN_PROVIDER, model: id };
  const provider = id.slice(0, slash);
  return { provider: CONVENTIONAL_PROVIDERS[provider] ?? provider, model: id.slice(slash + 1) };
}

/** The reverse. */
export function modelId(provider: string | undefined, model: string): string {
  if (provider === undefined || provider === UNKNOWN_PROVIDER) return model;
  const ours = Object.entries(CONVENTIONAL_PROVIDERS).find(([, name]) => name === provider)?.[0];
  return `${ours ?? provider}/${model}`;
}

/** Theirs are `tool_call` and `content_filter` where ours are `tool_calls` and `refusal`. */
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

/** The reverse; `other` for any that is not among theirs. */
export function finishReason(theirs: string | undefined): FinishReason {
  const known = Object.entries(FINISH_REASONS).find(([ours, name]) => name === theirs || ours === theirs);
  return (known?.[0] as FinishReason | undefined) ?? "other";
}

/** A span in protobuf. */
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

/** An ExportTraceServiceRequest of spans that are encoded already. */
export function encodeRequest(source: SpanSource, spans: readonly Uint8Array[]): Uint8Array {
  const { resource, scope, schemaUrl } = source;
  const message = REQUEST_MESSAGE.fromObject({
    resourceSpans: [{ resource, scopeSpans: [{ scope, schemaUrl, spans }] }],
  });
  return REQUEST_MESSAGE.encode(message).finish();
}

/** OTLP's TracesData in its JSON encoding, as far as it is written here: ids in hex, 64-bit numbers as texts. */

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

export const SPAN_KIND = { internal: 1, client: 3 } as const;

export const STATUS_ERROR = 2;

export interface SpanEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly KeyValue[];
}

export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Absent at the root. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: (typeof SPAN_KIND)[keyof typeof SPAN_KIND];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events?: readonly SpanEvent[];
  /** Absent: unset. */
  readonly status?: { readonly code: typeof STATUS_ERROR; readonly message: string };
}

/** What sends spans: all of ours come from one. */
export interface SpanSource {
  readonly resource: { readonly attributes: readonly KeyValue[] };
  readonly scope: { readonly name: string; readonly version: string };
  readonly schemaUrl: string;
}

/**
 * The messages of opentelemetry-proto 1.9 that are sent and received, by their field numbers. Spans are `bytes` where
 * they stand in a request: on the wire that is the same, so each is encoded once, and its size known, before it is put
 * into a request.
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
