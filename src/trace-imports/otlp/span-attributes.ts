import type { z } from "zod";
import { jsonDepth, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import type { AttributeMap, ReadSpan } from "./traces-data-schema.js";

export function textOf(attributes: AttributeMap, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    if (typeof value === "string") return value;
  }
  return undefined;
}

export function numberOf(attributes: AttributeMap, key: string): number | undefined {
  const value = attributes.get(key);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A count; undefined where it is none. */
export function countOf(attributes: AttributeMap, key: string): number | undefined {
  const value = numberOf(attributes, key);
  return Number.isSafeInteger(value) && (value ?? -1) >= 0 ? value : undefined;
}

export function textsOf(attributes: AttributeMap, key: string): readonly string[] {
  const value = attributes.get(key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** JSON in a text, checked; undefined where it is absent or is something else. */
export function jsonOf<T extends z.ZodType>(attributes: AttributeMap, key: string, schema: T): z.output<T> | undefined {
  const text = textOf(attributes, key);
  if (text === undefined || jsonDepth(text) > MAX_JSON_DEPTH) return undefined;
  return schema.safeParse(parseJsonOrNull(text)).data;
}

const NANO_PER_MS = 1_000_000;

/** To the millisecond, as our times are. */
export function isoTime(nano: bigint, beforeMs = 0): string {
  const before = BigInt(Math.round(Math.min(beforeMs * NANO_PER_MS, Number.MAX_SAFE_INTEGER)));
  const ms = (nano - before) / BigInt(NANO_PER_MS);
  return new Date(Math.min(Math.max(0, Number(ms)), LAST_DATE_MS)).toISOString();
}

/** The last that a Date can hold. */
const LAST_DATE_MS = 8.64e15;

export function durationMs({ startTimeUnixNano, endTimeUnixNano }: ReadSpan): number {
  return Math.max(0, Number(endTimeUnixNano - startTimeUnixNano) / NANO_PER_MS);
}

export function isError({ status }: ReadSpan): boolean {
  return status?.code === 2;
}
