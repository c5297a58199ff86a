// Spans of an OTLP JSON file, grouped by trace. A collector might write the spans of one trace anywhere in its file.
import { z } from "zod";
import { type JsonValue, jsonObjectSchema } from "../../../platform/json.js";
import { Database } from "../../../store/sqlite.js";
import { checkValue, parseImported } from "../../imported-trace.js";
import { readDocuments } from "../../open-import/imported-file.js";
import type { AttributeMap, AttributeValue } from "./attributes.js";

const scalarSchema = z.union([z.string(), z.number()]);

/** A value of any kind, decoded. Numbers can also be strings. Unknown fields are ignored. */
const decodedSchema: z.ZodType<JsonValue> = z.lazy(() =>
  z
    .looseObject({
      stringValue: z.string().optional(),
      boolValue: z.boolean().optional(),
      intValue: scalarSchema.optional(),
      doubleValue: scalarSchema.optional(),
      arrayValue: z.looseObject({ values: z.array(decodedSchema).default([]) }).optional(),
      kvlistValue: z.looseObject({ values: pairsSchema.default([]) }).optional(),
    })
    .transform(({ stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue }): JsonValue => {
      const number = intValue ?? doubleValue;
      if (number !== undefined) return Number(number);
      if (kvlistValue !== undefined) return Object.fromEntries(kvlistValue.values);
      return arrayValue?.values ?? stringValue ?? boolValue ?? null;
    }),
);

const pairsSchema = z.array(
  z
    .looseObject({ key: z.string(), value: decodedSchema.optional() })
    .transform(({ key, value }) => [key, value ?? null] as const),
);

/** Attributes as a list, or as an object with plain values. */
const attributesSchema = z
  .union([pairsSchema, jsonObjectSchema.transform((object) => Object.entries(object))])
  .default([])
  .transform((pairs): AttributeMap => new Map(pairs.map(([key, value]) => [key, attributeOf(value)])));

/** Objects become JSON text, which most writers use for them. */
function attributeOf(value: JsonValue): AttributeValue {
  const hasObjects = (inner: JsonValue): boolean =>
    Array.isArray(inner) ? inner.some(hasObjects) : typeof inner === "object" && inner !== null;
  return hasObjects(value) ? JSON.stringify(value) : (value as AttributeValue);
}

/** Nanoseconds, which some writers send as a fraction or a power of ten, or as an ISO 8601 time. */
const nanoSchema = scalarSchema.transform((time, context): bigint => {
  if (typeof time === "string" && /^\d{1,20}$/.test(time)) return BigInt(time);
  const number = Number(time);
  const date = typeof time === "string" && /^\d{4}-/.test(time) ? Date.parse(time) * 1_000_000 : Number.NaN;
  const nano = String(time).trim() === "" ? Number.NaN : Number.isNaN(number) ? date : number;
  if (nano >= 0 && nano < 2 ** 64) return BigInt(Math.round(nano));
  context.addIssue({ code: "custom", message: "expected nanoseconds" });
  return z.NEVER;
});

/** A status code, which protobuf's JSON writes as a word. */
const statusCodeSchema = z.union([
  z.int(),
  z
    .string()
    .regex(/^(?:STATUS_CODE_)?(?:UNSET|OK|ERROR)$|^\d$/i, "expected a status code")
    .transform((word) =>
      /^\d$/.test(word)
        ? Number(word)
        : ["UNSET", "OK", "ERROR"].indexOf(word.toUpperCase().replace("STATUS_CODE_", "")),
    ),
]);

/** An ID in hex digits, possibly after `0x`, or in base64, which protobuf's JSON uses for bytes. */
const idSchema = (bytes: number) =>
  z
    .string()
    .transform((id) => {
      const decoded = Buffer.from(id, "base64");
      const isBase64 = id.length === Math.ceil(bytes / 3) * 4 && decoded.length === bytes;
      return isBase64 ? decoded.toString("hex") : id.replace(/^0x/i, "").toLowerCase();
    })
    .pipe(z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`), `expected ${bytes * 2} hex digits`));

const spanSchema = z
  .object({
    traceId: idSchema(16),
    spanId: idSchema(8),
    parentSpanId: z.union([z.literal(""), idSchema(8)]).optional(),
    name: z.string().default(""),
    startTimeUnixNano: nanoSchema,
    /** Missing if the span has not ended. */
    endTimeUnixNano: nanoSchema.optional().catch(undefined),
    attributes: attributesSchema,
    events: z.array(z.object({ name: z.string().default(""), attributes: attributesSchema })).default([]),
    status: z
      .union([
        statusCodeSchema.transform((code) => ({ code, message: "" })),
        z.object({ code: statusCodeSchema.default(0), message: z.string().default("") }),
      ])
      .optional(),
  })
  .transform(({ endTimeUnixNano, ...span }) => ({
    ...span,
    endTimeUnixNano: endTimeUnixNano ?? span.startTimeUnixNano,
  }));

export type ReadSpan = z.output<typeof spanSchema>;

/**
 * Reads the spans of one trace after another, in the order in which the traces first appear. The spans wait in a
 * temporary database on disk, so memory does not grow with the file (https://www.sqlite.org/inmemorydb.html#temp_db).
 */
export async function* readSpansByTrace(file: string): AsyncGenerator<readonly ReadSpan[]> {
  const spool = new SpanSpool();
  try {
    for await (const { text, line } of readDocuments(file)) {
      const where = `${file}, line ${line}`;
      const document = parseImported(text, where);
      if (!isOtherSignal(document)) spool.add(checkValue(tracesDataSchema, toTracesData(document), where));
    }
    yield* spool.traces();
  } finally {
    spool.close();
  }
}

/** A collector can write its logs and metrics into the file of its traces. */
function isOtherSignal(document: unknown): boolean {
  return ["resourceLogs", "resourceMetrics"].some((name) => Object.hasOwn(Object(document), name));
}

class SpanSpool {
  private readonly db = new Database("");

  constructor() {
    this.db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000");
    this.db.exec("CREATE TABLE spans (id INTEGER PRIMARY KEY, trace TEXT NOT NULL, span TEXT NOT NULL); BEGIN");
  }

  add(spans: readonly ReadSpan[]): void {
    const insert = this.db.prepare("INSERT INTO spans (trace, span) VALUES (?, ?)");
    for (const span of spans) insert.run(span.traceId, JSON.stringify(span, spoolable));
  }

  *traces(): Generator<readonly ReadSpan[]> {
    this.db.exec("CREATE INDEX by_trace ON spans (trace)");
    const ids = this.db.prepare("SELECT trace FROM spans GROUP BY trace ORDER BY min(id)").pluck().all() as string[];
    const select = this.db.prepare("SELECT span FROM spans WHERE trace = ? ORDER BY id").pluck();
    for (const id of ids) yield withoutCopies((select.all(id) as string[]).map(fromSpool));
  }

  close(): void {
    this.db.close();
  }
}

/** Exporters send a batch again if its first delivery might have failed. The last copy of a span counts. */
function withoutCopies(spans: readonly ReadSpan[]): readonly ReadSpan[] {
  return [...new Map(spans.map((span) => [span.spanId, span])).values()];
}

/** Writes attributes as a list of pairs, and 64-bit numbers as strings. */
function spoolable(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === "bigint" ? String(value) : value;
}

function fromSpool(json: string): ReadSpan {
  const span = JSON.parse(json);
  return {
    ...span,
    startTimeUnixNano: BigInt(span.startTimeUnixNano),
    endTimeUnixNano: BigInt(span.endTimeUnixNano),
    attributes: new Map(span.attributes),
    events: span.events.map((event: { attributes: [] }) => ({ ...event, attributes: new Map(event.attributes) })),
  };
}

/** Names of properties in OTLP before version 0.19, in Phoenix's REST API and in MLflow's traces. */
const OTHER_NAMES = new Map([
  ["resource_spans", "resourceSpans"],
  ["scope_spans", "scopeSpans"],
  ["instrumentationLibrarySpans", "scopeSpans"],
  ["trace_id", "traceId"],
  ["span_id", "spanId"],
  ["parent_id", "parentSpanId"],
  ["parent_span_id", "parentSpanId"],
  ["start_time_unix_nano", "startTimeUnixNano"],
  ["end_time_unix_nano", "endTimeUnixNano"],
]);

/**
 * Writes a document like a collector: without null, which counts as absent, with OTLP's own names, and with all levels
 * around the spans. MLflow's traces have them in `data.spans`.
 */
function toTracesData(value: unknown): unknown {
  const document = withOwnNames(value) as Readonly<Record<string, unknown>>;
  const { spanId, data = spanId && [document] } = document;
  const { spans = Object(data).spans ?? data } = document;
  const { scopeSpans = spans && [{ spans }], resourceSpans = scopeSpans && [{ scopeSpans }] } = document;
  return { resourceSpans };
}

function withOwnNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withOwnNames);
  if (typeof value !== "object" || value === null) return value;
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([name, inner]) => [OTHER_NAMES.get(name) ?? name, withOwnNames(inner)]));
}

/** The spans of one document, as a collector or art-e writes them. */
const tracesDataSchema = z
  .looseObject({
    resourceSpans: z.array(
      z.looseObject({
        scopeSpans: z.array(z.looseObject({ spans: z.array(spanSchema).default([]) })).default([]),
      }),
    ),
  })
  .transform(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
