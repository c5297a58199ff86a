// Reads the attributes of a span. Writers disagree about types, so a value with an unexpected type counts as missing.
import type { z } from "zod";
import { type JsonValue, jsonDepth, jsonValueSchema, MAX_JSON_DEPTH, parseJsonOrNull } from "../../../platform/json.js";

export type AttributeValue = string | number | boolean | null | readonly AttributeValue[];

export type AttributeMap = ReadonlyMap<string, AttributeValue>;

/** Returns the value of the first key whose attribute is a string. */
export function textOf(attributes: AttributeMap, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    if (typeof value === "string") return value;
  }
  return undefined;
}

/** Returns the first finite number. Some writers put numbers into strings. */
export function numberOf(attributes: AttributeMap, ...keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number)) return number;
  }
  return undefined;
}

/** Returns the first number if it is an integer of at least 0. */
export function countOf(attributes: AttributeMap, ...keys: readonly string[]): number | undefined {
  const value = numberOf(attributes, ...keys);
  return Number.isSafeInteger(value) && (value ?? -1) >= 0 ? value : undefined;
}

export function textsOf(attributes: AttributeMap, key: string): readonly string[] {
  const value = attributes.get(key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Parses a string attribute as JSON and checks it. Returns undefined if it is missing or does not match the schema. */
export function jsonOf<T extends z.ZodType>(attributes: AttributeMap, key: string, schema: T): z.output<T> | undefined {
  const text = textOf(attributes, key);
  if (text === undefined) return undefined;
  return schema.safeParse(shallowJson(text)).data;
}

function shallowJson(text: string): JsonValue {
  return jsonDepth(text) > MAX_JSON_DEPTH ? null : parseJsonOrNull(text);
}

/** Parses the first string attribute as JSON. Returns the string itself if it is not JSON. */
export function jsonIn(attributes: AttributeMap, ...keys: readonly string[]): JsonValue {
  const text = textOf(attributes, ...keys);
  return text === undefined ? null : jsonOrText(text);
}

export function jsonOrText(text: string): JsonValue {
  const value = shallowJson(text);
  const isNull = value === null && text.trim() !== "null";
  return isNull ? text : (jsonValueSchema.safeParse(value).data ?? text);
}

/**
 * Returns the items of a list that is flattened into indexed keys, in the order of their indices. The attributes
 * `p.0.role` and `p.0.content` are one item with `role` and `content`.
 */
export function itemsOf(attributes: AttributeMap, prefix: string): readonly AttributeMap[] {
  const items = new Map<number, Map<string, AttributeValue>>();
  const start = `${prefix}.`;
  for (const [key, value] of attributes) {
    if (!key.startsWith(start)) continue;
    const [, index, rest] = /^(\d{1,9})\.(.+)$/.exec(key.slice(start.length)) ?? [];
    if (index === undefined || rest === undefined) continue;
    const item = items.get(Number(index)) ?? new Map<string, AttributeValue>();
    items.set(Number(index), item.set(rest, value));
  }
  return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
}
