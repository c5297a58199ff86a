import { describe, expect, test } from "vitest";
import { readArguments } from "../../src/models/tool-calls.js";
import { adaptTools } from "../../src/models/tool-schemas.js";
import { type JsonSchema, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../src/platform/json.js";
import { compileArgumentSchema, compileResultSchema } from "../../src/tools/arguments/json-schema.js";

const googleSchema = (parameters: JsonSchema) => adaptTools([{ name: "t", description: "", parameters }], "google");

const withValue = (schema: JsonValue, more: JsonSchema = {}) =>
  compileArgumentSchema({ type: "object", properties: { v: schema }, ...more });

describe("a tool's schema", () => {
  test.each([
    ["if it has another type", { type: "string" }, 'expected a schema with "type": "object"'],
    ["if it has no type", { properties: {} }, 'expected a schema with "type": "object"'],
    [
      "if it requires an undefined property",
      { type: "object", required: ["q"] },
      'required property "q" is not defined',
    ],
    ["if it contains a broken reference", { type: "object", properties: { v: { $ref: "#/$defs/x" } } }, "#/$defs/x"],
    [
      "if it contains an external reference",
      { type: "object", properties: { v: { $ref: "http://x.example/s" } } },
      "ref",
    ],
  ])("causes an error %s", (_, schema, why) => {
    expect(() => compileArgumentSchema(schema as JsonSchema)).toThrow(new RegExp(why.replaceAll("$", "\\$"), "i"));
  });

  test("skips the check against the meta-schema if it is built in, because compiling the meta-schema takes 70 ms", () => {
    const schema = { type: "object", description: 5 };
    for (const compile of [compileArgumentSchema, compileResultSchema])
      expect(() => compile(schema)).toThrow("description must be string, received 5");
    expect(compileArgumentSchema(schema, true)({}).ok).toBe(true);
  });

  test("can require in one part what another part defines", () => {
    const properties = { a: { type: "string" }, b: { type: "string" } };
    const oneOf = [{ required: ["a"] }, { required: ["b"] }];
    const check = compileArgumentSchema({ type: "object", properties, oneOf });
    expect([check({ a: "x" }).ok, check({ a: "x", b: "y" }).ok, check({}).ok]).toEqual([true, false, false]);
  });

  test.each([
    ["a bound without a type", { minimum: 3 }, 'missing type "number" for keyword "minimum" at "#/properties/v"'],
    ["several bounds without a type", { minLength: 3, pattern: "a" }, 'missing type "string" for keyword "minLength"'],
    ["entries without a type", { prefixItems: [{ type: "string" }] }, "prefixItems"],
    ["a bound next to a reference", { $ref: "#/$defs/d", minimum: 3 }, "minimum"],
    [
      "bounds that are strings",
      { type: "integer", minimum: "3", maximum: "4" },
      'properties.v.maximum must be number, received "4"; properties.v.minimum must be number, received "3"',
    ],
    ["a misspelled keyword", { type: "integer", minimun: 3 }, "minimun, which cannot be checked"],
    ["an OpenAPI keyword", { type: "string", nullable: true }, "nullable"],
    ["an unknown type", { type: "text" }, "text"],
    ["an invalid pattern", { type: "string", pattern: "(" }, "Invalid regular expression"],
  ])("causes an error if it contains %s", (_, value, why) => {
    expect(() => withValue(value as JsonValue, { $defs: { d: { type: "integer" } } })).toThrow(why);
  });

  test.each([
    ["items", { type: "array", items: { minimum: 1 } }, "/properties/v/items"],
    ["a list of items", { type: "array", items: [{ minimum: 1 }] }, "/properties/v/items/0"],
    ["an alternative", { anyOf: [{ type: "string" }, { minimum: 1 }] }, "/properties/v/anyOf/1"],
    ["a property", { type: "object", properties: { w: { minimum: 1 } } }, "/properties/v/properties/w"],
    [
      "additional properties",
      { type: "object", additionalProperties: { minimum: 1 } },
      "/properties/v/additionalProperties",
    ],
    ["a definition", { $ref: "#/$defs/d" }, "/$defs/d"],
  ])("causes an error with the path if %s deep inside contains a loose keyword", (_, value, path) => {
    const make = () => withValue(value as JsonValue, { $defs: { d: { minimum: 1 } } });
    expect(make).toThrow(`missing type "number" for keyword "minimum" at "#${path}"`);
  });
});

test("reads a schema as draft-07 if it declares draft-07", () => {
  const draft = { $schema: "http://json-schema.org/draft-07/schema#" };
  const check = withValue({ type: "object", dependencies: { a: ["b"] } }, draft);
  expect(check({ v: { a: 1 } }).ok).toBe(false);
  expect(check({ v: { a: 1, b: 2 } }).ok).toBe(true);
  expect(() => withValue({ type: "array", prefixItems: [] }, draft)).toThrow("prefixItems, which cannot be checked");
});

describe("checking arguments", () => {
  const cases: [string, JsonValue, JsonValue[], JsonValue[]][] = [
    ["minimum and maximum", { type: "integer", minimum: 1, maximum: 50 }, [1, 50], [0, 51, 1.5, "1", null]],
    ["exclusive bounds", { type: "number", exclusiveMinimum: 2, exclusiveMaximum: 4 }, [2.1, 3], [2, 4]],
    ["multipleOf", { type: "integer", multipleOf: 5 }, [0, 10], [3]],
    ["the length of a string", { type: "string", minLength: 2, maxLength: 3 }, ["ab", "abc"], ["a", "abcd", ""]],
    ["a pattern", { type: "string", pattern: "^a+$" }, ["a", "aa"], ["", "ab"]],
    ["an existing date", { type: "string", format: "date" }, ["2001-02-28"], ["2001-02-30", "28.2.2001", ""]],
    ["an address", { type: "string", format: "email" }, ["a@b.example"], ["a at b"]],
    ["an enum", { type: "string", enum: ["inbox", "sent"] }, ["inbox", "sent"], ["Inbox", "", null]],
    ["an enum of several types", { enum: ["x", 1, null] }, ["x", 1, null], ["y", 2]],
    ["a const", { const: 3 }, [3], [4, "3"]],
    ["two types", { type: ["string", "null"], minLength: 2 }, ["ab", null], ["a", 3]],
    ["two types that are not null", { type: ["string", "integer"] }, ["a", 1], [1.5, null]],
    ["the first of any number of items", { type: "array", prefixItems: [{ type: "string" }] }, [[], ["a", 1]], [[1]]],
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
    [
      "allowed additional properties",
      { type: "object", additionalProperties: { type: "integer" } },
      [{ a: 1 }],
      [{ a: "1" }],
    ],
    [
      "the names of additional properties",
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
    ["a bound next to an enum", { type: "string", enum: ["x", "yy"], minLength: 2 }, ["yy"], ["x", "zz"]],
    ["a bound next to a const", { type: "integer", const: 3, maximum: 4 }, [3], [2]],
    ["a count of items of any kind", { type: "array", minItems: 1 }, [[null]], [[]]],
    [
      "items that are all different",
      { type: "array", uniqueItems: true },
      [[{ a: 1 }, { a: 2 }]],
      [[{ a: 1 }, { a: 1 }]],
    ],
    ["not", { type: "string", not: { enum: ["x"] } }, ["y"], ["x"]],
    ["a condition", { type: "string", if: { minLength: 3 }, else: { maxLength: 1 } }, ["abc", "x"], ["ab"]],
    [
      "properties required by another one",
      { type: "object", properties: { b: { type: "string" } }, dependentRequired: { a: ["b"] } },
      [{ a: 1, b: "x" }, {}],
      [{ a: 1 }],
    ],
    [
      "unevaluated properties",
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

  test.each(cases)("rejects wrong values (%s)", (_, value, right, wrong) => {
    const schema = withValue(value, { $defs: { d: { type: "integer" } } });
    for (const v of right) expect(schema({ v }), JSON.stringify(v)).toEqual({ ok: true, value: { v } });
    for (const v of wrong) expect(schema({ v }).ok, JSON.stringify(v)).toBe(false);
  });

  test("rejects missing required and forbidden properties", () => {
    const schema = withValue({ type: "string" }, { required: ["v"], additionalProperties: false });
    for (const wrong of [{}, { w: "a" }, { v: "a", w: "a" }, [], "v", null, 1]) {
      expect(schema(wrong).ok, JSON.stringify(wrong)).toBe(false);
    }
    expect(schema({ v: "a" })).toEqual({ ok: true, value: { v: "a" } });
  });
});

describe("an omitted property", () => {
  test("gets its default, even inside another object", () => {
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

  test("gets its default in a definition that an alternative refers to", () => {
    const d = { type: "object", properties: { a: { type: "integer", default: 3 } } };
    const schema = withValue({ anyOf: [{ $ref: "#/$defs/d" }] }, { $defs: { d } });
    expect(schema({ v: {} })).toEqual({ ok: true, value: { v: { a: 3 } } });
  });

  test("does not prevent further arguments if additionalProperties allows them", () => {
    expect(withValue({ type: "string" })({ more: [1, { deep: true }] })).toMatchObject({
      value: { more: [1, { deep: true }] },
    });
  });
});

test("accepts annotations and unknown formats in a schema", () => {
  const described = {
    type: "integer",
    title: "Limit",
    description: "How many",
    examples: [3],
    deprecated: false,
    "x-order": 1,
    $comment: "none",
  };
  for (const schema of [described, { format: "phone" }])
    expect(withValue(schema)({ v: 3 })).toEqual({ ok: true, value: { v: 3 } });
});

describe("errors about a mismatch", () => {
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
  ])("describe %j", (value, why) => {
    expect(schema(value)).toMatchObject({ ok: false, error: expect.stringContaining(why) });
  });
});

test("errors list at most 20 mistakes and 50 values, each of at most 80 characters", () => {
  const errorOf = (schema: JsonSchema, value: JsonValue) => {
    const checked = compileArgumentSchema({ type: "object", ...schema })(value);
    return checked.ok ? "" : checked.error;
  };
  const wrong = errorOf({ properties: objectOf(21, { type: "integer" }) }, objectOf(21, "x"));
  expect(wrong.split("; ")).toHaveLength(20);
  const names = Object.keys(objectOf(51, 1));
  const choice = errorOf({ properties: { v: { enum: names } } }, { v: 0 });
  expect([choice.includes('"p49"'), choice.includes('"p50"')]).toEqual([true, false]);
  const unknown = errorOf({ properties: objectOf(51, {}), additionalProperties: false }, { w: 0 });
  expect([unknown.includes("p49"), unknown.includes("p50")]).toEqual([true, false]);
  const hints = [{}, { only: {} }].map((properties) => errorOf({ properties, additionalProperties: false }, { w: 0 }));
  expect(hints).toEqual(['the arguments must not have "w"', 'the arguments must not have "w" (known: only)']);
  const received = (length: number) => errorOf({ properties: { v: { type: "integer" } } }, { v: "x".repeat(length) });
  expect([received(78), received(79)]).toEqual([
    `v must be integer, received "${"x".repeat(78)}"`,
    `v must be integer, received "${"x".repeat(79)}…`,
  ]);
});

test("checks a result without the rules for arguments, and does not change the result", () => {
  const schema = {
    properties: { n: { minimum: 1, default: 5 }, kind: { type: "string", format: "phone" } },
    example: {},
  };
  const check = compileResultSchema(schema);
  expect(check({ kind: "x" })).toEqual({ ok: true, value: { kind: "x" } });
  expect(check({ n: 0 })).toEqual({ ok: false, error: "n must be >= 1, received 0" });
});

function objectOf(size: number, value: JsonValue): Record<string, JsonValue> {
  return Object.fromEntries(Array.from({ length: size }, (_, i) => [`p${i}`, structuredClone(value)]));
}

const ofText = (schema: JsonSchema) => compileArgumentSchema({ type: "object", properties: { v: schema } });

/** `depth` nested objects. */
function deep(depth: number): JsonSchema {
  let schema: JsonSchema = { type: "string" };
  for (let i = 0; i < depth; i++) schema = { type: "object", properties: { v: schema } };
  return schema;
}

describe("a pattern of a tool's schema", () => {
  test.each([
    ["^(a+)+$", "a"],
    ["(x+x+)+y", "x"],
    ["^(\\w+\\s?)*$", "word "],
    ["(.*a){20}!", "a"],
    ["\\s+$", " "],
    ["^([a-z]|[a-z])*$", "a"],
  ])("takes linear time over 1 MB (%s)", (pattern, pump) => {
    const type = ofText({ type: "string", pattern });
    const v = `${pump.repeat(1_000_000 / pump.length)}\u2603`;
    expect(type({ v }).ok).toBe(false);
  });

  test("takes linear time in any position", () => {
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
      const type = compileArgumentSchema({ type: "object", properties: { v: schema }, $defs: { evil } });
      type({ v: value });
    }
  });

  test.each([
    ["(?=a)b", "syntax beyond regular languages"],
    ["(a)\\1", "syntax beyond regular languages"],
    ["(.{900}){900}", "cannot be checked"],
    ["a".repeat(1_001), "more than 1000 characters"],
    ["a{999}", "too many repetitions"],
  ])("causes an error with the reason (%s)", (pattern, why) => {
    expect(() => ofText({ type: "string", pattern })).toThrow(why);
  });

  test("matches no text with which it would take more than 5,000,000 steps", () => {
    // RE2 compiles it to 5 instructions.
    const type = ofText({ type: "string", pattern: "a*$" });
    expect([1_000_000, 1_000_001].map((length) => type({ v: "a".repeat(length) }).ok)).toEqual([true, false]);
  });

  test("can have 998 repetitions of a letter, which is the maximum", () => {
    const type = ofText({ type: "string", pattern: "a{998}" });
    expect([type({ v: "a".repeat(998) }).ok, type({ v: "a".repeat(997) }).ok]).toEqual([true, false]);
  });

  test.each([
    ["^[A-Z]{2}-\\d+$", ["AB-1"], ["AB-", "ab-1"]],
    ["^\\u0041\\/\\.$", ["A/."], ["A/x"]],
    ["^(?:https?:)\\/\\/[^\\s]+$", ["http://x"], ["ftp://x"]],
    ["é|[ä-ü]", ["cafés", "ö"], ["cafe"]],
  ])("means the same as in JavaScript (%s)", (pattern, fits, others) => {
    const type = ofText({ type: "string", pattern });
    for (const v of [...fits, ...others]) {
      expect(type({ v }).ok, v).toBe(new RegExp(pattern).test(v));
    }
    expect(fits.every((v) => type({ v }).ok)).toBe(true);
  });
});

describe("schemas of any size", () => {
  test("causes an error if it has 5,000 levels, but not if it has fifty", () => {
    expect(() => compileArgumentSchema(deep(5_000))).toThrow("nested more than 100 levels");
    expect(jsonObjectSchema.safeParse(deep(5_000)).error?.issues[0]?.message).toContain("at most 100 levels deep");
    expect(() => compileArgumentSchema(deep(45))).not.toThrow();
  });

  test("causes an error if it doubles in every part", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        i === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    const schema = { type: "object", properties: { v: { $ref: "#/$defs/d0" } }, $defs };
    expect(() => compileArgumentSchema(schema)).toThrow("more than 1000 schemas");
    googleSchema(schema);
  });

  test("causes an error if it directly refers to itself, but not if one of its parts refers to it", () => {
    const turning = {
      type: "object",
      properties: { v: { $ref: "#/$defs/a" } },
      $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } },
    };
    expect(() => compileArgumentSchema(turning)).toThrow("refers to itself");
    googleSchema(turning);
    const list = { type: "object", properties: { next: { $ref: "#" }, name: { type: "string" } } };
    expect(compileArgumentSchema(list)({ next: { next: { name: "x" } } }).ok).toBe(true);
  });

  test("does not block the conversion for Google if every part has ten circular references", () => {
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, { $ref: "#" }]));
    googleSchema({ type: "object", properties });
  });
});

describe("a schema that is compiled to code", () => {
  const NAMES = [
    '"];globalThis.injected=1;//',
    "'+(globalThis.injected=1)+'",
    "`$" + "{globalThis.injected=1}`",
    '\\");globalThis.injected=1;("',
    "*/globalThis.injected=1;/*",
    "a\nglobalThis.injected=1",
    "a\u2028globalThis.injected=1",
    "a/../~0~1%22",
  ];
  test.each(NAMES)("does not execute its content (%j)", (name) => {
    const escaped = encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
    const type = compileArgumentSchema({
      type: "object",
      title: name,
      [`x-${name}`]: name,
      properties: {
        [name]: { type: "string", format: name, default: name, description: name },
        v: { $ref: `#/$defs/${escaped}` },
      },
      required: [name],
      patternProperties: {
        [name.replace(/[^a-zA-Z0-9]/g, "\\$&").replace(/[\n\u2028]/g, ".")]: true,
      },
      dependentRequired: { [name]: [name] },
      $defs: { [name]: { enum: [name, { [name]: name }] } },
    });
    expect(type({ [name]: "x", v: name }).ok).toBe(true);
    expect(type({ [name]: "x", v: "other" }).ok).toBe(false);
    expect(type({ v: { [name]: name } })).toMatchObject({ ok: true, value: { [name]: name } });
    expect("injected" in globalThis).toBe(false);
  });

  test("checks names from Object's prototype like any other", () => {
    const names = ["toString", "constructor", "hasOwnProperty"];
    const needed = compileArgumentSchema({
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string", format: name }])),
      required: names,
      additionalProperties: false,
    });
    expect(needed({}).ok).toBe(false);
    expect(needed(Object.fromEntries(names.map((name) => [name, "x"]))).ok).toBe(true);
    expect(needed(JSON.parse('{"toString":"x","constructor":"x","hasOwnProperty":"x","__proto__":1}')).ok).toBe(false);
    for (const name of names) expect(() => ofText({ [name]: 1 })).toThrow("cannot be checked");
  });

  test("causes an error if a reference leads through a value that is not an object", () => {
    const through = (ref: string) =>
      compileArgumentSchema({ type: "object", default: null, properties: { v: { $ref: ref } } });
    expect(() => through("#/default/x")).toThrow("does not refer to this schema");
    expect(() => through("#/type/length")).toThrow("does not refer to this schema");
  });

  test("can refer to a schema that is true or false", () => {
    const any = compileArgumentSchema({
      type: "object",
      properties: { v: { $ref: "#/$defs/any" }, w: { $ref: "#/$defs/none" } },
      $defs: { any: true, none: false },
    });
    expect([any({ v: 1 }).ok, any({ w: 1 }).ok]).toEqual([true, false]);
  });

  test("has at most 2,000 subschemas, 1,000 schemas for one value, and 1,000 characters in a pattern", () => {
    const ofSize = (size: number) => () => compileArgumentSchema({ type: "object", properties: objectOf(size, {}) });
    expect(ofSize(2_000)).toThrow("more than 2000 subschemas");
    const together = (size: number) => () => withValue({ allOf: Array.from({ length: size }, () => ({})) });
    expect(together(999)).not.toThrow();
    expect(together(1_000)).toThrow("more than 1000 schemas");
    expect(() => ofText({ type: "string", pattern: `[${"a".repeat(998)}]` })).not.toThrow();
  });

  test("matches a format only with at most 10,000 characters", () => {
    const check = ofText({ type: "string", format: "uri-reference" });
    expect([10_000, 10_001].map((length) => check({ v: "a".repeat(length) }).ok)).toEqual([true, false]);
  });

  test("has at most 200,000 characters", () => {
    const sized = (length: number) => () => compileArgumentSchema({ type: "object", description: "x".repeat(length) });
    const around = JSON.stringify({ type: "object", description: "" }).length + "the arguments false ".length;
    expect(sized(200_000 - around)).not.toThrow();
    expect(sized(200_001 - around)).toThrow("it has more than 200000 characters");
  });

  test.each([
    ['{"properties":{"__proto__":{"type":"string"}}}', "__proto__, which cannot be checked"],
    ['{"required":["__proto__"]}', "__proto__, which cannot be checked"],
    ['{"properties":{"v":{"$ref":"#/constructor"}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$ref":"#/__proto__/x"}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$ref":"http://json-schema.org/draft-07/schema#"}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$ref":"file:///etc/passwd"}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$ref":"properties/v"}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$ref":3}}}', "does not refer to this schema"],
    ['{"properties":{"v":{"$id":"x"}}}', "its own $id"],
    ['{"properties":{"v":{"$dynamicRef":"#"}}}', "$dynamicRef, which cannot be checked"],
    ['{"properties":{"v":5}}', "properties.v must be"],
    ['{"properties":{"v":{"type":{}}}}', "properties.v.type must be"],
    ['{"required":[5]}', "required.0 must be string"],
  ])("causes an error of one line if invalid (%s)", (text, why) => {
    const compile = () => compileArgumentSchema({ type: "object", ...JSON.parse(text) });
    const { __proto__: _, ...rest } = JSON.parse(text);
    expect(Object.keys(rest).length).toBe(1);
    expect(compile).toThrow(why);
    expect(compile).not.toThrow("\n");
  });

  test("takes limited time for any size", () => {
    const many = (count: number, part: (i: number) => JsonValue) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, part(i)]));
    const hostile: JsonSchema[] = [
      { properties: many(1_900, () => ({ type: "string", pattern: "^(a+)+$" })) },
      { properties: many(50_000, () => ({ type: "string" })) },
      { properties: { v: { enum: Array.from({ length: 20_000 }, (_, i) => i) } } },
      {
        properties: {
          v: {
            anyOf: Array.from({ length: 900 }, (_, i) => ({
              type: "object",
              required: [`p${i}`],
              properties: { [`p${i}`]: true },
            })),
          },
        },
      },
      {
        $defs: many(1_900, (i) => (i === 1_899 ? { type: "string" } : { $ref: `#/$defs/p${i + 1}` })),
        properties: { v: { $ref: "#/$defs/p0" } },
      },
      {
        $defs: many(900, (i) => (i === 899 ? { type: "string" } : { $ref: `#/$defs/p${i + 1}` })),
        properties: { v: { $ref: "#/$defs/p0" } },
      },
      {
        $defs: many(1_900, (i) => ({ type: "array", items: { $ref: `#/$defs/p${(i + 1) % 1_900}` } })),
        properties: { v: { $ref: "#/$defs/p0" } },
      },
    ];
    for (const schema of hostile) {
      try {
        compileArgumentSchema({ type: "object", ...schema });
      } catch (error) {
        expect((error as Error).message).toMatch(/more than|chain of references is too long/);
      }
    }
  });

  test("stops if the work doubles at each level of a value", () => {
    const doubling = compileArgumentSchema({
      type: "object",
      properties: { a: { $ref: "#" } },
      patternProperties: { a: { $ref: "#" } },
    });
    let value: JsonValue = {};
    for (let i = 0; i < 90; i++) value = { a: value };
    expect(doubling(value)).toMatchObject({ ok: false, error: expect.stringContaining("too many references") });
    expect(doubling({ a: { a: {} } }).ok).toBe(true);
  });

  test("follows at most 100,000 references per value", () => {
    const items = { $ref: "#/$defs/d" };
    const list = compileArgumentSchema({
      type: "object",
      properties: { v: { type: "array", items } },
      $defs: { d: {} },
    });
    for (const size of [100_000, 100_001, 100_000])
      expect(list({ v: Array.from({ length: size }, () => 1) }).ok).toBe(size === 100_000);
  });

  test("finds equal items among many in linear time", () => {
    const type = ofText({ type: "array", uniqueItems: true });
    const v = Array.from({ length: 30_000 }, (_, i) => ({ i, of: [i] }));
    expect(type({ v }).ok).toBe(true);
    expect(type({ v: [...v, { of: [7], i: 7 }] }).ok).toBe(false);
    expect(type({ v: [{ a: 1 }, [["a", 1]], '{"a":1}', { entries: [["a", 1]] }] }).ok).toBe(true);
  });
});

describe("JSON from outside", () => {
  const text = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
  test("causes an error if it is nested too deeply", () => {
    expect(jsonValueSchema.safeParse(JSON.parse(text)).success).toBe(false);
    expect(jsonValueSchema.safeParse(JSON.parse("[[[[1]]]]")).data).toEqual([[[[1]]]]);
  });

  test("counts as unreadable if it is the arguments of a call", () => {
    expect(readArguments(text)).toEqual({ arguments: {}, invalid: text });
    expect(readArguments(JSON.parse(text))).toEqual({ arguments: {}, invalid: "[nested too deeply]" });
  });

  test.each(["null", " null\n", "", null])("counts as no arguments if it is %j", (raw) => {
    expect(readArguments(raw)).toEqual({ arguments: {} });
  });
});
