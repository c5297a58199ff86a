import { z } from "zod";

/** As other writers have it: any kind of value, numbers as texts or numbers, unknown fields let through. */
const anyValueSchema: z.ZodType<AttributeValue> = z.lazy(() =>
  z
    .looseObject({
      stringValue: z.string().optional(),
      boolValue: z.boolean().optional(),
      intValue: z.union([z.string(), z.number()]).optional(),
      doubleValue: z.union([z.number(), z.string()]).optional(),
      arrayValue: z.looseObject({ values: z.array(anyValueSchema).default([]) }).optional(),
      kvlistValue: z.unknown().optional(),
    })
    .transform(({ stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue }): AttributeValue => {
      if (intValue !== undefined) return Number(intValue);
      if (doubleValue !== undefined) return Number(doubleValue);
      if (arrayValue !== undefined) return arrayValue.values;
      return stringValue ?? boolValue ?? (kvlistValue === undefined ? null : JSON.stringify(kvlistValue));
    }),
);

export type AttributeValue = string | number | boolean | null | readonly AttributeValue[];

export type AttributeMap = ReadonlyMap<string, AttributeValue>;

const attributesSchema = z
  .array(z.looseObject({ key: z.string(), value: anyValueSchema.optional() }))
  .default([])
  .transform((pairs): AttributeMap => new Map(pairs.map(({ key, value }) => [key, value ?? null])));

const nanoSchema = z
  .union([z.string().regex(/^\d{1,20}$/, "expected nanoseconds"), z.int().nonnegative().transform(String)])
  .transform(BigInt);

const hexSchema = z.string().regex(/^[0-9a-fA-F]*$/, "expected hex digits");

const spanSchema = z.looseObject({
  traceId: hexSchema.length(32, "expected 32 hex digits").transform((id) => id.toLowerCase()),
  spanId: hexSchema.length(16, "expected 16 hex digits"),
  parentSpanId: hexSchema.optional(),
  name: z.string().default(""),
  startTimeUnixNano: nanoSchema,
  endTimeUnixNano: nanoSchema,
  attributes: attributesSchema,
  events: z.array(z.looseObject({ name: z.string().default(""), attributes: attributesSchema })).default([]),
  status: z.looseObject({ code: z.int().default(0), message: z.string().default("") }).optional(),
});

export type ReadSpan = z.output<typeof spanSchema>;

/** One line of a file: what a collector's file exporter or this program writes. */
export const tracesDataSchema = z.looseObject({
  resourceSpans: z.array(
    z.looseObject({
      scopeSpans: z.array(z.looseObject({ spans: z.array(spanSchema).default([]) })).default([]),
    }),
  ),
});

export function spansOf(data: z.output<typeof tracesDataSchema>): ReadSpan[] {
  return data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
