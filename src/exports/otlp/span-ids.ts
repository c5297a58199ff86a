import { createHash } from "node:crypto";

const UUID = /^trace_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** 32 hex digits: those of the UUID in our id; of any other id, from its hash. */
export function otlpTraceId(traceId: string): string {
  const digits = UUID.exec(traceId)?.[1]?.replaceAll("-", "");
  // OTLP calls an id of zeros invalid.
  return digits === undefined || /^0+$/.test(digits) ? hash(traceId, 32) : digits;
}

/** 16 hex digits, the same at every export: a backend that is sent a trace twice stores it once. */
export function otlpSpanId(traceId: string, span: string): string {
  return hash(`${traceId}/${span}`, 16);
}

function hash(value: string, digits: number): string {
  return createHash("sha256").update(value).digest("hex").slice(0, digits);
}
