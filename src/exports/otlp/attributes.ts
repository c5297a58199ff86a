import type { JsonValue } from "../../domain/json.js";
import type { AnyValue, KeyValue } from "../../otlp/traces-data.js";

/** Attributes by key; those that are undefined are left out. */
export type Attributes = Readonly<Record<string, AnyValue | undefined>>;

export function toKeyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]));
}

export function text(value: string): AnyValue {
  return { stringValue: storable(value) };
}

export function integer(value: number): AnyValue {
  return { intValue: String(Math.trunc(value)) };
}

export function double(value: number): AnyValue {
  return { doubleValue: value };
}

export function texts(values: readonly string[]): AnyValue {
  return { arrayValue: { values: values.map(text) } };
}

/** A value as JSON in a text, as the conventions have messages, arguments and results. */
export function jsonText(value: JsonValue | object): AnyValue {
  return { stringValue: JSON.stringify(value, (_, item) => (typeof item === "string" ? storable(item) : item)) };
}

/** Protobuf takes no lone surrogates, and PostgreSQL, which Langfuse and Phoenix store spans in, no NUL. */
export function storable(value: string): string {
  return value.toWellFormed().replaceAll("\0", "\uFFFD");
}
