import { describe, expect, test } from "vitest";
import { googleSchema, readArguments } from "../../src/models/tool-calls.js";
import { type JsonSchema, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../../src/platform/json.js";
import { compileArgumentSchema } from "../../src/tools/json-schema.js";

const ofText = (schema: JsonSchema) => compileArgumentSchema({ type: "object", properties: { v: schema } });

/** `depth` objects within each other. */
function deep(depth: number): JsonSchema {
  let schema: JsonSchema = { type: "string" };
  for (let i = 0; i < depth; i++) schema = { type: "object", properties: { v: schema } };
  return schema;
}

/** What is bounded takes a fraction of it, and what is not takes hours: a machine may be busy with other things. */
const BUSY = 8;

function within(ms: number, work: () => void): void {
  const begun = performance.now();
  work();
  expect(performance.now() - begun).toBeLessThan(BUSY * ms);
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
    within(10_000, () => expect(type({ v }).ok).toBe(false));
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
      const type = compileArgumentSchema({ type: "object", properties: { v: schema }, $defs: { evil } });
      within(2_000, () => type({ v: value }));
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
      expect(type({ v }).ok, v).toBe(new RegExp(pattern).test(v));
    }
    expect(fits.every((v) => type({ v }).ok)).toBe(true);
  });
});

describe("a schema", () => {
  test("of 5,000 levels is refused, and one of fifty is not", () => {
    expect(() => compileArgumentSchema(deep(5_000))).toThrow("nested more than 100 levels");
    expect(jsonObjectSchema.safeParse(deep(5_000)).error?.issues[0]?.message).toContain("at most 100 levels deep");
    expect(() => compileArgumentSchema(deep(45))).not.toThrow();
  });

  test("in which each part doubles the one before is refused", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        i === 39 ? { type: "string" } : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    const schema = { type: "object", properties: { v: { $ref: "#/$defs/d0" } }, $defs };
    expect(() => compileArgumentSchema(schema)).toThrow("more than 1000 schemas");
    within(2_000, () => googleSchema(schema));
  });

  test("that refers to itself on the spot is refused, and one that does so in a part of itself is not", () => {
    const turning = {
      type: "object",
      properties: { v: { $ref: "#/$defs/a" } },
      $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } },
    };
    expect(() => compileArgumentSchema(turning)).toThrow("refers to itself");
    within(2_000, () => googleSchema(turning));
    const list = { type: "object", properties: { next: { $ref: "#" }, name: { type: "string" } } };
    expect(compileArgumentSchema(list)({ next: { next: { name: "x" } } }).ok).toBe(true);
  });

  test("of which every part has ten that lead back to it does not hold the conversion for Google up", () => {
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`p${i}`, { $ref: "#" }]));
    within(5_000, () => googleSchema({ type: "object", properties }));
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
  test.each(NAMES)("runs nothing that stands in it: %j", (name) => {
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

  test("checks names of Object's prototype as any other", () => {
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

  test.each([
    ['{"properties":{"__proto__":{"type":"string"}}}', "__proto__, which cannot be checked"],
    ['{"required":["__proto__"]}', "__proto__, which cannot be checked"],
    ['{"properties":{"v":{"$ref":"#/constructor"}}}', "is not in this schema"],
    ['{"properties":{"v":{"$ref":"#/__proto__/x"}}}', "is not in this schema"],
    ['{"properties":{"v":{"$ref":"http://json-schema.org/draft-07/schema#"}}}', "is not in this schema"],
    ['{"properties":{"v":{"$ref":"file:///etc/passwd"}}}', "is not in this schema"],
    ['{"properties":{"v":{"$ref":3}}}', "is not in this schema"],
    ['{"properties":{"v":{"$id":"x"}}}', "$id of its own"],
    ['{"properties":{"v":{"$dynamicRef":"#"}}}', "$dynamicRef, which cannot be checked"],
    ['{"properties":{"v":5}}', "properties.v must be"],
    ['{"properties":{"v":{"type":{}}}}', "properties.v.type must be"],
    ['{"required":[5]}', "required.0 must be string"],
  ])("is refused in one line where it cannot be: %s", (text, why) => {
    const compile = () => compileArgumentSchema({ type: "object", ...JSON.parse(text) });
    const { __proto__: _, ...rest } = JSON.parse(text);
    expect(Object.keys(rest).length).toBe(1);
    expect(compile).toThrow(why);
    expect(compile).not.toThrow("\n");
  });

  test("takes bounded time, however large it is", () => {
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
      within(5_000, () => {
        try {
          compileArgumentSchema({ type: "object", ...schema });
        } catch (error) {
          expect((error as Error).message).toMatch(/more than|too long a chain/);
        }
      });
    }
  });

  test("that doubles the work at each level of a value gives up on it", () => {
    const doubling = compileArgumentSchema({
      type: "object",
      properties: { a: { $ref: "#" } },
      patternProperties: { a: { $ref: "#" } },
    });
    let value: JsonValue = {};
    for (let i = 0; i < 90; i++) value = { a: value };
    within(5_000, () =>
      expect(doubling(value)).toMatchObject({ ok: false, error: expect.stringContaining("too many references") }),
    );
    expect(doubling({ a: { a: {} } }).ok).toBe(true);
  });

  test("finds equal items among many in linear time", () => {
    const type = ofText({ type: "array", uniqueItems: true });
    const v = Array.from({ length: 100_000 }, (_, i) => ({ i, of: [i] }));
    within(5_000, () => expect(type({ v }).ok).toBe(true));
    within(5_000, () => expect(type({ v: [...v, { of: [7], i: 7 }] }).ok).toBe(false));
    expect(type({ v: [{ a: 1 }, [["a", 1]], '{"a":1}', { entries: [["a", 1]] }] }).ok).toBe(true);
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
