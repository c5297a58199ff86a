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

export interface TracesData {
  readonly resourceSpans: readonly {
    readonly resource: SpanSource["resource"];
    readonly scopeSpans: readonly {
      readonly scope: SpanSource["scope"];
      readonly schemaUrl: string;
      readonly spans: readonly Span[];
    }[];
  }[];
}
