import { describe, expect, test } from "vitest";
import type { JsonSchema, JsonValue } from "../../src/platform/json.js";
import { compileArgumentSchema, compileResultSchema } from "../../src/tools/json-schema.js";

const withValue = (schema: JsonValue, more: JsonSchema = {}) =>
  compileArgumentSchema({ type: "object", properties: { v: schema }, ...more });

describe("a schema is refused", () => {
  test.each([
    ["of another type", { type: "string" }, 'must have "type": "object"'],
    ["without a type", { properties: {} }, 'must have "type": "object"'],
    [
      "that requires what it does not have",
      { type: "object", required: ["q"] },
      'required property "q" is not defined',
    ],
    ["that refers to nowhere", { type: "object", properties: { v: { $ref: "#/$defs/x" } } }, "#/$defs/x"],
    ["that refers to somewhere else", { type: "object", properties: { v: { $ref: "http://x.example/s" } } }, "ref"],
  ])("%s", (_, schema, why) => {
    expect(() => compileArgumentSchema(schema as JsonSchema)).toThrow(new RegExp(why.replaceAll("$", "\\$"), "i"));
  });

  test.each([
    ["a bound without a type", { minimum: 3 }, 'missing type "number" for keyword "minimum" at "#/properties/v"'],
    ["several such", { minLength: 3, pattern: "a" }, 'missing type "string" for keyword "minLength"'],
    ["entries without a type", { prefixItems: [{ type: "string" }] }, "prefixItems"],
    ["a bound beside a reference", { $ref: "#/$defs/d", minimum: 3 }, "minimum"],
    ["a bound that is text", { type: "integer", minimum: "3" }, "properties.v.minimum must be number"],
    ["a misspelt keyword", { type: "integer", minimun: 3 }, "minimun, which cannot be checked"],
    ["a keyword of OpenAPI", { type: "string", nullable: true }, "nullable"],
    ["an unknown type", { type: "text" }, "text"],
    ["a pattern that is none", { type: "string", pattern: "(" }, "Invalid regular expression"],
  ])("with %s", (_, value, why) => {
    expect(() => withValue(value as JsonValue, { $defs: { d: { type: "integer" } } })).toThrow(why);
  });

  test.each([
    ["items", { type: "array", items: { minimum: 1 } }, "/properties/v/items"],
    ["a list of items", { type: "array", items: [{ minimum: 1 }] }, "/properties/v/items/0"],
    ["an alternative", { anyOf: [{ type: "string" }, { minimum: 1 }] }, "/properties/v/anyOf/1"],
    ["a property", { type: "object", properties: { w: { minimum: 1 } } }, "/properties/v/properties/w"],
    ["what is added", { type: "object", additionalProperties: { minimum: 1 } }, "/properties/v/additionalProperties"],
    ["a definition", { $ref: "#/$defs/d" }, "/$defs/d"],
  ])("for a loose keyword deep in %s, by its path", (_, value, path) => {
    const make = () => withValue(value as JsonValue, { $defs: { d: { minimum: 1 } } });
    expect(make).toThrow(`missing type "number" for keyword "minimum" at "#${path}"`);
  });
});

test("a schema that names draft-07 is read as that draft", () => {
  const draft = { $schema: "http://json-schema.org/draft-07/schema#" };
  const check = withValue({ type: "object", dependencies: { a: ["b"] } }, draft);
  expect(check({ v: { a: 1 } }).ok).toBe(false);
  expect(check({ v: { a: 1, b: 2 } }).ok).toBe(true);
});

describe("arguments are checked by", () => {
  const cases: [string, JsonValue, JsonValue[], JsonValue[]][] = [
    ["minimum and maximum", { type: "integer", minimum: 1, maximum: 50 }, [1, 50], [0, 51, 1.5, "1", null]],
    ["exclusive bounds", { type: "number", exclusiveMinimum: 2, exclusiveMaximum: 4 }, [2.1, 3], [2, 4]],
    ["multipleOf", { type: "integer", multipleOf: 5 }, [0, 10], [3]],
    ["the length of a text", { type: "string", minLength: 2, maxLength: 3 }, ["ab", "abc"], ["a", "abcd", ""]],
    ["a pattern", { type: "string", pattern: "^a+$" }, ["a", "aa"], ["", "ab"]],
    ["a day that there is", { type: "string", format: "date" }, ["2001-02-28"], ["2001-02-30", "28.2.2001", ""]],
    ["an address", { type: "string", format: "email" }, ["a@b.example"], ["a at b"]],
    ["an enum", { type: "string", enum: ["inbox", "sent"] }, ["inbox", "sent"], ["Inbox", "", null]],
    ["an enum of several types", { enum: ["x", 1, null] }, ["x", 1, null], ["y", 2]],
    ["a const", { const: 3 }, [3], [4, "3"]],
    ["two types", { type: ["string", "null"], minLength: 2 }, ["ab", null], ["a", 3]],
    ["a boolean", { type: "boolean" }, [true, false], ["true", 1]],
    [
      "a list",
      { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2, uniqueItems: true },
      [["a"], ["a", "b"]],
      [[], ["a", "b", "c"], ["a", "a"], [1], "a"],
    ],
    [
      "a list of lists",
      { type: "array", items: { type: "array", items: { type: "integer", maximum: 3 } } },
      [[[1], []]],
      [[[4]], [1]],
    ],
    [
      "a pair",
      { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
      [["a", 1]],
      [
        ["a", "b"],
        ["a", 1, 2],
      ],
    ],
    [
      "an object in it, and nothing more",
      {
        type: "object",
        properties: { from: { type: "string" }, days: { type: "integer", minimum: 1 } },
        required: ["from"],
        additionalProperties: false,
      },
      [{ from: "a" }, { from: "a", days: 1 }],
      [{}, { from: "a", days: 0 }, { from: "a", cc: "b" }, []],
    ],
    ["what may be added", { type: "object", additionalProperties: { type: "integer" } }, [{ a: 1 }], [{ a: "1" }]],
    [
      "the names of what is added",
      { type: "object", patternProperties: { "^n": { type: "integer" } } },
      [{ n1: 1 }],
      [{ n1: "1" }],
    ],
    [
      "how much there is",
      { type: "object", minProperties: 1, maxProperties: 2 },
      [{ a: 1 }],
      [{}, { a: 1, b: 2, c: 3 }],
    ],
    ["any of two", { anyOf: [{ type: "string" }, { type: "integer", minimum: 3 }] }, ["a", 3], [2, true]],
    [
      "exactly one of two",
      {
        oneOf: [
          { type: "integer", minimum: 3 },
          { type: "integer", maximum: 5 },
        ],
      },
      [2, 6],
      [4],
    ],
    [
      "all of two",
      {
        allOf: [
          { type: "integer", minimum: 3 },
          { type: "integer", maximum: 5 },
        ],
      },
      [4],
      [2, 6],
    ],
    ["a definition", { $ref: "#/$defs/d", description: "a count" }, [1], ["1", 1.5]],
    ["a bound beside an enum", { type: "string", enum: ["x", "yy"], minLength: 2 }, ["yy"], ["x", "zz"]],
    ["a bound beside a const", { type: "integer", const: 3, maximum: 4 }, [3], [2]],
    ["a count of items of any kind", { type: "array", minItems: 1 }, [[null]], [[]]],
    [
      "items that are all different",
      { type: "array", uniqueItems: true },
      [[{ a: 1 }, { a: 2 }]],
      [[{ a: 1 }, { a: 1 }]],
    ],
    ["what it must not be", { type: "string", not: { enum: ["x"] } }, ["y"], ["x"]],
    ["a condition", { type: "string", if: { minLength: 3 }, else: { maxLength: 1 } }, ["abc", "x"], ["ab"]],
    [
      "what else a property asks for",
      { type: "object", properties: { b: { type: "string" } }, dependentRequired: { a: ["b"] } },
      [{ a: 1, b: "x" }, {}],
      [{ a: 1 }],
    ],
    [
      "what is left unevaluated",
      { type: "object", allOf: [{ properties: { a: { type: "string" } } }], unevaluatedProperties: false },
      [{ a: "x" }],
      [{ b: "x" }],
    ],
    [
      "a pair as draft-07 has it",
      { type: "array", items: [{ type: "string" }, { type: "integer" }], additionalItems: false },
      [["a", 1], ["a"]],
      [
        ["a", "b"],
        ["a", 1, 2],
      ],
    ],
  ];

  test.each(cases)("%s", (_, value, right, wrong) => {
    const schema = withValue(value, { $defs: { d: { type: "integer" } } });
    for (const v of right) expect(schema({ v }), JSON.stringify(v)).toEqual({ ok: true, value: { v } });
    for (const v of wrong) expect(schema({ v }).ok, JSON.stringify(v)).toBe(false);
  });

  test("what must be there, and what may not", () => {
    const schema = withValue({ type: "string" }, { required: ["v"], additionalProperties: false });
    for (const wrong of [{}, { w: "a" }, { v: "a", w: "a" }, [], "v", null, 1]) {
      expect(schema(wrong).ok, JSON.stringify(wrong)).toBe(false);
    }
    expect(schema({ v: "a" })).toEqual({ ok: true, value: { v: "a" } });
  });
});

describe("what is left out", () => {
  test("takes its default, also inside another object", () => {
    const schema = compileArgumentSchema({
      type: "object",
      properties: {
        limit: { type: "integer", default: 10 },
        page: { type: "object", properties: { offset: { type: "integer", default: 0 } } },
        order: { type: "string" },
      },
    });
    expect(schema({ page: {} })).toEqual({ ok: true, value: { limit: 10, page: { offset: 0 } } });
    expect(schema({ limit: 3 })).toEqual({ ok: true, value: { limit: 3 } });
  });

  test("of additionalProperties lets more arguments through as they are", () => {
    expect(withValue({ type: "string" })({ more: [1, { deep: true }] })).toMatchObject({
      value: { more: [1, { deep: true }] },
    });
  });
});

test("words that only describe are no hindrance", () => {
  const described = {
    type: "integer",
    title: "Limit",
    description: "How many",
    examples: [3],
    deprecated: false,
    "x-order": 1,
    $comment: "none",
  };
  expect(withValue(described)({ v: 3 })).toEqual({ ok: true, value: { v: 3 } });
});

describe("what does not fit is said", () => {
  const schema = compileArgumentSchema({
    type: "object",
    properties: {
      query: { type: "string" },
      limit: { type: "integer", maximum: 50 },
      folder: { enum: ["inbox", "sent"] },
      filter: { type: "object", properties: { day: { type: "string", format: "date" } } },
    },
    required: ["query"],
    additionalProperties: false,
  });
  test.each([
    [{}, 'query is missing: must be "string"'],
    [{ query: 3 }, "query must be string, received 3"],
    [{ query: ["a"] }, "query must be string, received a list"],
    [{ query: "a", limit: 99 }, "limit must be <= 50, received 99"],
    [{ query: "a", folder: "Inbox" }, 'folder must be one of "inbox", "sent", received "Inbox"'],
    [{ query: "a", filter: { day: "28.2." } }, 'filter.day must match format "date", received "28.2."'],
    [{ query: "a", limits: 3 }, 'the arguments must not have "limits" (known: query, limit, folder, filter)'],
    ["a", 'the arguments must be object, received "a"'],
    [
      { limit: "x", folder: 1 },
      'query is missing: must be "string"; limit must be integer, received "x"; folder must be',
    ],
  ])("%j", (value, why) => {
    expect(schema(value)).toMatchObject({ ok: false, error: expect.stringContaining(why) });
  });
});

test("a result is checked without the rules for arguments, and stays as it is", () => {
  const schema = {
    properties: { n: { minimum: 1, default: 5 }, kind: { type: "string", format: "phone" } },
    example: {},
  };
  const check = compileResultSchema(schema);
  expect(check({ kind: "x" })).toEqual({ ok: true, value: { kind: "x" } });
  expect(check({ n: 0 })).toEqual({ ok: false, error: "n must be >= 1, received 0" });
});
