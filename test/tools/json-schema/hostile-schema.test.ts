import { describe, expect, test } from "vitest";
import type { JsonSchema, JsonValue } from "../../../src/domain/json.js";
import { jsonObjectSchema, jsonValueSchema } from "../../../src/domain/json.js";
import { readArguments } from "../../../src/models/providers/tool-calls.js";
import { googleSchema } from "../../../src/models/providers/tool-schema.js";
import { toArgumentSchema } from "../../../src/tools/json-schema/argument-schema.js";

const ofText = (schema: JsonSchema) => toArgumentSchema({ type: "object", properties: { v: schema } });

/** `depth` objects within each other. */
function deep(depth: number): JsonSchema {
  let schema: JsonSchema = { type: "string" };
  for (let i = 0; i < depth; i++) schema = { type: "object", properties: { v: schema } };
  return schema;
}

function within(ms: number, work: () => void): void {
  const begun = performance.now();
  work();
  expect(performance.now() - begun).toBeLessThan(ms);
}

describe("a pattern of a tool's schema", () => {
  test.each([
    ["^(a+)+$", "a"],
    ["(x+x+)+y", "x"],
    ["^(\\w+\\s?)*$", "word "],
    ["(.*a){20}!", "a"],
    ["\\s+$", " "],
    ["^([a-z]|[a-z])*$", "a"],
  ])("%s takes linear time over 1 MB", (pattern, pump) => {
    const type = ofText({ type: "string", pattern });
    const v = `${pump.repeat(1_000_000 / pump.length)}\u2603`;
    within(10_000, () => expect(type.safeParse({ v }).success).toBe(false));
  });

  test("is linear wherever it stands", () => {
    const evil = { type: "string", pattern: "^(a+)+$" };
    // Enough for minutes in JavaScript's own engine.
    const v = `${"a".repeat(32)}!`;
    const places: [JsonSchema, JsonValue][] = [
      [{ type: "array", items: evil }, [v]],
      [{ anyOf: [evil, { type: "number" }] }, v],
      [{ allOf: [evil] }, v],
      [{ type: "object", additionalProperties: evil }, { k: v }],
      [{ type: "object", propertyNames: evil }, { [v]: 1 }],
      [{ type: "object", patternProperties: { "^(a+)+$": { type: "number" } } }, { [v]: "x" }],
      [
        { type: "object", patternProperties: { "^(a+)+$": { type: "number" } }, additionalProperties: false },
        { [v]: "x" },
      ],
      [{ type: "array", items: { type: "string" }, contains: evil }, [v]],
      [{ type: "array", prefixItems: [evil] }, [v]],
      [{ $ref: "#/$defs/evil" }, v],
    ];
    for (const [schema, value] of places) {
      const type = toArgumentSchema({ type: "object", properties: { v: schema }, $defs: { evil } });
      within(2_000, () => type.safeParse({ v: value }));
    }
  });

  test.each([
    ["(?=a)b", "more than a regular language"],
    ["(a)\\1", "more than a regular language"],
    ["(.{900}){900}", "cannot be checked"],
    ["a".repeat(1_001), "more than 1000 characters"],
  ])("%s is refused, and says why", (pattern, why) => {
    expect(() => ofText({ type: "string", pattern })).toThrow(why);
  });

  test.each([
    ["^[A-Z]{2}-\\d+$", ["AB-1"], ["AB-", "ab-1"]],
    ["^\\u0041\\/\\.$", ["A/."], ["A/x"]],
    ["^(?:https?:)\\/\\/[^\\s]+$", ["http://x"], ["ftp://x"]],
    ["é|[ä-ü]", ["cafés", "ö"], ["cafe"]],
  ])("%s means what it means in JavaScript", (pattern, fits, others) => {
    const type = ofText({ type: "string", pattern });
    for (const v of [...fits, ...others]) {
      expect(type.safeParse({ v }).success, v).toBe(new RegExp(pattern).test(v));
    }
    expect(fits.every((v) => type.safeParse({ v }).success)).toBe(true);
  });
});

describe("a schema", () => {
  test("of 5,000 levels is refused, and one of fifty is not", () => {
    expect(() => toArgumentSchema(deep(5_000))).toThrow("nested more than 100 levels");
    expect(jsonObjectSchema.safeParse(deep(5_000)).error?.issues[0]?.message).toContain("at most 100 levels deep");
    expect(() => toArgumentSchema(deep(45))).not.toThrow();
  });

  test("in which each part doubles the one before is refused", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        i === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    const schema = { type: "object", properties: { v: { $ref: "#/$defs/d0" } }, $defs };
    expect(() => toArgumentSchema(schema)).toThrow("more than 1000 schemas");
    within(2_000, () => googleSchema(schema));
  });

  test("that refers to itself on the spot is refused, and one that does so in a part of itself is not", () => {
    const turning = {
      type: "object",
      properties: { v: { $ref: "#/$defs/a" } },
      $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } },
    };
    expect(() => toArgumentSchema(turning)).toThrow("refers to itself");
    within(2_000, () => googleSchema(turning));
    const list = { type: "object", properties: { next: { $ref: "#" }, name: { type: "string" } } };
    expect(toArgumentSchema(list).safeParse({ next: { next: { name: "x" } } }).success).toBe(true);
  });

  test("of which every part has ten that lead back to it does not hold the conversion for Google up", () => {
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, { $ref: "#" }]));
    within(5_000, () => googleSchema({ type: "object", properties }));
  });
});

describe("JSON from outside", () => {
  const text = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
  test("is refused where it is nested too deep", () => {
    expect(jsonValueSchema.safeParse(JSON.parse(text)).success).toBe(false);
    expect(jsonValueSchema.safeParse(JSON.parse("[[[[1]]]]")).data).toEqual([[[[1]]]]);
  });

  test("as arguments of a call counts as unreadable", () => {
    expect(readArguments(text)).toEqual({ arguments: {}, invalid: text });
    expect(readArguments(JSON.parse(text))).toEqual({ arguments: {}, invalid: "[nested too deep]" });
  });
});
