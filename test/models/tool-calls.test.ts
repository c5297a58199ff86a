import { describe, expect, test } from "vitest";
import { googleSchema, objectSchema } from "../../src/models/tool-calls.js";
import type { JsonSchema, JsonValue } from "../../src/platform/json.js";

const converted = (property: JsonValue, rest: JsonSchema = {}) => {
  const schema = googleSchema({ type: "object", properties: { p: property }, ...rest });
  return (schema as { properties: JsonSchema } | null)?.properties.p;
};

describe("googleSchema", () => {
  test.each([{}, { type: "object" }, { type: "object", properties: {} }])("has no parameters in %j", (schema) => {
    expect(googleSchema(schema as JsonSchema)).toBeNull();
  });

  test("drops what the API refuses, at every depth", () => {
    const schema = googleSchema({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      title: "Search",
      additionalProperties: false,
      properties: {
        keywords: { type: "array", items: { type: "string", default: "x" }, minItems: 1, uniqueItems: true },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 10 },
      },
      required: ["keywords", "gone"],
    });
    expect(schema).toEqual({
      type: "object",
      properties: {
        keywords: { type: "array", items: { type: "string" }, minItems: 1 },
        limit: { type: "integer", minimum: 1, maximum: 50 },
      },
      required: ["keywords"],
    });
  });

  test.each<[string, JsonValue, JsonValue]>([
    ["a nullable type", { type: ["string", "null"] }, { type: "string", nullable: true }],
    ["several types", { type: ["string", "integer"] }, { anyOf: [{ type: "string" }, { type: "integer" }] }],
    ["anyOf with null", { anyOf: [{ type: "string" }, { type: "null" }] }, { type: "string", nullable: true }],
    ["oneOf", { oneOf: [{ type: "string" }, { type: "number" }] }, { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["a const", { const: "a" }, { type: "string", enum: ["a"] }],
    ["an enum", { type: "string", enum: ["a", "b"] }, { type: "string", enum: ["a", "b"] }],
    ["an enum with null", { enum: ["a", null] }, { type: "string", enum: ["a"], nullable: true }],
    [
      "an enum of numbers",
      { type: "integer", enum: [1, 2], description: "Level." },
      { type: "integer", description: "Level. One of: 1, 2." },
    ],
    ["a known format", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    ["another format", { type: "string", format: "date" }, { type: "string", description: "Format: date." }],
    ["an exclusive bound", { type: "integer", exclusiveMinimum: 0 }, { type: "integer", minimum: 1 }],
    ["an array of anything", { type: "array" }, { type: "array", items: { type: "string" } }],
    ["anything", true, { type: "string" }],
    [
      "allOf",
      { allOf: [{ type: "object", properties: { a: { type: "string" } } }, { required: ["a"] }] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ],
  ])("says %s", (_, given, expected) => {
    expect(converted(given)).toEqual(expected);
  });

  test("follows references, and stops where they run in circles", () => {
    const $defs = { word: { type: "string" }, tree: { type: "array", items: { $ref: "#/$defs/tree" } } };
    expect(converted({ $ref: "#/$defs/word", description: "A word." }, { $defs })).toEqual({
      type: "string",
      description: "A word.",
    });
    expect(JSON.stringify(converted({ $ref: "#/$defs/tree" }, { $defs })).length).toBeLessThan(2000);
    expect(converted({ $ref: "#/$defs/none" })).toEqual({ type: "string" });
  });
});

test("objectSchema adds the type and the properties, and keeps the rest", () => {
  expect(objectSchema({})).toEqual({ type: "object", properties: {} });
  const schema = { type: "object", properties: { a: {} }, additionalProperties: false } as const;
  expect(objectSchema(schema)).toEqual(schema);
});
