import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, test } from "vitest";
import { noteReplies } from "../../src/models/open-model.js";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import { googleModel } from "../../src/models/providers/google.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import { googleSchema } from "../../src/models/tool-schemas/google-schema.js";
import { adaptTools, objectSchema, type SchemaDialect } from "../../src/models/tool-schemas.js";
import type { JsonSchema, JsonValue } from "../../src/platform/json.js";
import type { WireFormat } from "../providers/wire-request.js";
import { exchange } from "./wire.js";

const converted = (property: JsonValue, rest: JsonSchema = {}) => {
  const schema = googleSchema({ type: "object", properties: { p: property }, ...rest });
  return (schema as { properties: JsonSchema } | null)?.properties.p;
};

describe("googleSchema", () => {
  test.each([{}, { type: "object" }, { type: "object", properties: {} }])("omits the parameters for %j", (schema) => {
    expect(googleSchema(schema as JsonSchema)).toBeNull();
  });

  test("drops unsupported keywords at every depth", () => {
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
    [
      "an enum with an empty string",
      { type: "string", enum: ["", "a"] },
      { type: "string", enum: ["a"], description: "An empty string is allowed too." },
    ],
    [
      "an enum that contains only an empty string",
      { enum: [""] },
      { type: "string", description: "An empty string is allowed too." },
    ],
    ["an object with empty properties", { type: "object", properties: {} }, { type: "object" }],
    ["an enum with null", { enum: ["a", null] }, { type: "string", enum: ["a"], nullable: true }],
    [
      "an enum of numbers",
      { type: "integer", enum: [1, 2], description: "Level." },
      { type: "integer", description: "Level. One of: 1, 2." },
    ],
    ["a known format", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
    ["an unknown format", { type: "string", format: "date" }, { type: "string", description: "Format: date." }],
    ["an exclusive bound", { type: "integer", exclusiveMinimum: 0 }, { type: "integer", minimum: 1 }],
    ["an array of anything", { type: "array" }, { type: "array", items: { type: "string" } }],
    ["anything", true, { type: "string" }],
    [
      "allOf",
      { allOf: [{ type: "object", properties: { a: { type: "string" } } }, { required: ["a"] }] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ],
  ])("expresses %s", (_, given, expected) => {
    expect(converted(given)).toEqual(expected);
  });

  test("follows references, but not circular ones", () => {
    const $defs = { word: { type: "string" }, tree: { type: "array", items: { $ref: "#/$defs/tree" } } };
    expect(converted({ $ref: "#/$defs/word", description: "A word." }, { $defs })).toEqual({
      type: "string",
      description: "A word.",
    });
    expect(JSON.stringify(converted({ $ref: "#/$defs/tree" }, { $defs })).length).toBeLessThan(2000);
    expect(converted({ $ref: "#/$defs/none" })).toEqual({ type: "string" });
  });
});

test("objectSchema adds the type and the properties, and keeps everything else", () => {
  expect(objectSchema({})).toEqual({ type: "object", properties: {} });
  const schema = { type: "object", properties: { a: {} }, additionalProperties: false } as const;
  expect(objectSchema(schema)).toEqual(schema);
});

describe("adaptTools", () => {
  const adapted = (parameters: JsonSchema, dialect: SchemaDialect = "anthropic") => {
    const { tools, ...rest } = adaptTools([{ name: "t", description: "Does it.", parameters }], dialect);
    return { ...rest, tool: tools[0] };
  };
  const text = { type: "string" } as const;

  it("does not change an ordinary schema", () => {
    const parameters = { type: "object", properties: { a: text }, required: ["a"], additionalProperties: false };
    expect(adapted(parameters)).toMatchObject({ tool: { description: "Does it.", parameters }, notes: [] });
  });

  it.each<[string, JsonSchema, JsonSchema, string]>([
    [
      "anyOf of objects",
      {
        type: "object",
        anyOf: [
          { type: "object", properties: { content: text, n: text }, required: ["content", "n"] },
          { type: "object", properties: { url: text, n: { type: "number" } }, required: ["url", "n"] },
        ],
      },
      {
        type: "object",
        properties: { content: text, n: { anyOf: [text, { type: "number" }] }, url: text },
        required: ["n"],
      },
      "Does it. Give content and n, or url and n.",
    ],
    [
      "oneOf of required properties",
      { type: "object", properties: { a: text, b: text }, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
      { type: "object", properties: { a: text, b: text } },
      "Does it. Give a, or b.",
    ],
    [
      "allOf with references",
      {
        $defs: { P: { properties: { x: text }, required: ["x"] } },
        allOf: [{ $ref: "#/$defs/P" }, { properties: { y: text } }],
      },
      {
        $defs: { P: { properties: { x: text }, required: ["x"] } },
        type: "object",
        properties: { x: text, y: text },
        required: ["x"],
      },
      "Does it.",
    ],
    [
      "only a reference",
      { $defs: { P: { properties: { x: text } } }, $ref: "#/$defs/P" },
      { $defs: { P: { properties: { x: text } } }, type: "object", properties: { x: text } },
      "Does it.",
    ],
  ])("merges %s into one object", (_, parameters, expected, description) => {
    for (const dialect of ["anthropic", "openai"] as const) {
      const { tool, notes } = adapted(parameters, dialect);
      expect(tool).toEqual({ name: "t", description, parameters: expected });
      expect(notes).toEqual([expect.stringContaining("alternatives")]);
    }
    expect(Object.keys((adapted(parameters, "google").tool?.parameters?.properties ?? {}) as object)).toEqual(
      Object.keys(expected.properties as object),
    );
  });

  it("renames parameters that contain other characters, and restores their names in the arguments of a call", () => {
    const { tool, notes, restore } = adapted({
      type: "object",
      properties: {
        $filter: text,
        _filter: text,
        "a b": { type: "array", items: { type: "object", properties: { "c d": text }, required: ["c d"] } },
      },
      required: ["$filter"],
    });
    expect(tool?.parameters).toEqual({
      type: "object",
      properties: {
        _filter_2: text,
        _filter: text,
        a_b: { type: "array", items: { type: "object", properties: { c_d: text }, required: ["c_d"] } },
      },
      required: ["_filter_2"],
    });
    expect(notes).toEqual([expect.stringContaining("parameter names")]);
    expect(restore("t", { _filter_2: "x", _filter: "y", a_b: [{ c_d: "z" }], other: 1 })).toEqual({
      $filter: "x",
      _filter: "y",
      "a b": [{ "c d": "z" }],
      other: 1,
    });
    expect(restore("unknown", { a_b: 1 })).toEqual({ a_b: 1 });
  });
});

describe("restored parameter names", () => {
  const FILTER = { type: "object", properties: { $top: { type: "integer" }, "odata.type": { type: "string" } } };

  it.each<[string, JsonSchema, JsonValue, JsonValue]>([
    [
      "in a $ref",
      { type: "object", properties: { query: { $ref: "#/$defs/Filter" } }, $defs: { Filter: FILTER } },
      { query: { _top: 5 } },
      { query: { $top: 5 } },
    ],
    [
      "in definitions, inside an array",
      {
        type: "object",
        properties: { all: { type: "array", items: { $ref: "#/definitions/F" } } },
        definitions: { F: FILTER },
      },
      { all: [{ _top: 1 }, { _top: 2 }] },
      { all: [{ $top: 1 }, { $top: 2 }] },
    ],
    [
      "in anyOf next to null",
      { type: "object", properties: { query: { anyOf: [{ type: "null" }, FILTER] } } },
      { query: { _top: 5 } },
      { query: { $top: 5 } },
    ],
    [
      "in the branches of oneOf, each with its own names",
      {
        type: "object",
        properties: {
          by: {
            oneOf: [
              { type: "object", properties: { "@id": { type: "string" } }, required: ["@id"] },
              { type: "object", properties: { "#id": { type: "string" } }, required: ["#id"] },
            ],
          },
        },
      },
      { by: { _id_2: "x" } },
      { by: { "#id": "x" } },
    ],
    [
      "in allOf, and below a $ref inside it",
      {
        type: "object",
        properties: { query: { allOf: [{ $ref: "#/$defs/F" }, { properties: { "a b": { type: "string" } } }] } },
        $defs: { F: FILTER },
      },
      { query: { _top: 1, a_b: "x" } },
      { query: { $top: 1, "a b": "x" } },
    ],
    [
      "at the top level, in alternatives",
      { oneOf: [{ required: ["$a"] }, { required: ["$b"] }], properties: { $a: {}, $b: {} } },
      { _b: 1 },
      { $b: 1 },
    ],
    [
      "in the values of a map, but not in its keys",
      { type: "object", properties: { map: { type: "object", additionalProperties: FILTER }, $x: {} } },
      { map: { _x: { _top: 1 }, _top: { _top: 2 } }, _x: 3 },
      { map: { _x: { $top: 1 }, _top: { $top: 2 } }, $x: 3 },
    ],
    [
      "in a schema that refers to itself",
      {
        type: "object",
        properties: { tree: { $ref: "#/$defs/Node" } },
        $defs: {
          Node: {
            type: "object",
            properties: { $left: { $ref: "#/$defs/Node" }, value: { type: "integer" } },
          },
        },
      },
      { tree: { _left: { _left: { value: 1 } } } },
      { tree: { $left: { $left: { value: 1 } } } },
    ],
    [
      "in a schema that a $ref refers to by name",
      { type: "object", properties: { $a: FILTER, other: { $ref: "#/properties/$a" } } },
      { _a: { _top: 1 }, other: { _top: 2 } },
      { $a: { $top: 1 }, other: { $top: 2 } },
    ],
  ])("equal the tool's own names %s", (_, parameters, sent, restored) => {
    for (const dialect of ["anthropic", "google"] as const) {
      const { tools, restore } = adaptTools([{ name: "t", description: "", parameters }], dialect);
      expect(restore("t", sent)).toEqual(restored);
      expect(JSON.stringify(tools)).not.toMatch(/"\$(a|b|top|left|x)"|"[@#]id"|"a b"/);
    }
  });

  it("apply to required in a branch, and in dependentRequired, too", () => {
    const parameters = {
      type: "object",
      properties: {
        p: { properties: { $a: {}, $b: {} }, anyOf: [{ required: ["$a"] }], dependentRequired: { $a: ["$b"] } },
      },
    };
    const [tool] = adaptTools([{ name: "t", description: "", parameters }], "anthropic").tools;
    expect(tool?.parameters?.properties).toEqual({
      p: { properties: { _a: {}, _b: {} }, anyOf: [{ required: ["_a"] }], dependentRequired: { _a: ["_b"] } },
    });
  });
});

describe("a model at a provider", () => {
  const tools = [
    { name: "t", description: "", parameters: { type: "object", properties: { $filter: { type: "string" } } } },
  ] as const;

  it.each<[WireFormat, Parameters<typeof exchange>[1], string]>([
    ["anthropic", anthropicModel, "_filter"],
    ["google", googleModel, "_filter"],
    ["openai-chat", openaiChatModel, "$filter"],
    ["openai-responses", openaiResponsesModel, "$filter"],
  ])(
    "receives accepted parameter names over %s, and its calls contain the tool's own names",
    async (format, make, sentName) => {
      const answer = { toolCalls: [{ name: "t", arguments: { [sentName]: "x" } }] };
      const notes: string[] = [];
      const noted: typeof make = (name, endpoint) => noteReplies(make(name, endpoint), (note) => notes.push(note));
      const { sent, reply } = await exchange(format, noted, "m", answer, { tools });
      expect(JSON.stringify(sent.body)).toContain(`"${sentName}":{"type":"string"}`);
      expect(reply.toolCalls).toMatchObject([{ name: "t", arguments: { $filter: "x" } }]);
      expect(notes).toHaveLength(sentName === "$filter" ? 0 : 1);
    },
  );
});

describe("an array in a schema", () => {
  const adapted = (property: JsonSchema, dialect: SchemaDialect) =>
    adaptTools([{ name: "t", description: "", parameters: { type: "object", properties: { property } } }], dialect)
      .tools[0]?.parameters;

  it.each(["openai", "anthropic"] as const)("without items gets a schema for them for %s, at any depth", (dialect) => {
    const inner = { type: "object", properties: { all: { type: ["array", "null"] } } };
    expect(adapted({ type: "array" }, dialect)).toMatchObject({ properties: { property: { items: {} } } });
    expect(adapted(inner, dialect)).toMatchObject({
      properties: { property: { properties: { all: { type: ["array", "null"], items: {} } } } },
    });
  });

  it("gets one schema for all of its items from a list of schemas", () => {
    const tuple = { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false };
    expect(adapted(tuple, "anthropic")).toMatchObject({
      properties: { property: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } } },
    });
    expect(JSON.stringify(adapted(tuple, "anthropic"))).not.toContain("additionalItems");
  });
});

it("keeps an object with alternatives of required properties as an object for Google", () => {
  const text = { type: "string" };
  const filter = {
    type: "object",
    properties: { a: text, b: text },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  };
  expect(googleSchema({ type: "object", properties: { filter } })).toMatchObject({
    properties: { filter: { type: "object", properties: { a: text, b: text } } },
  });
});

describe("a schema of another server", () => {
  const property = (schema: unknown, rest: object = {}) => ({ type: "object", properties: { p: schema }, ...rest });
  const [text, count] = [{ type: "string" }, { type: "number" }];
  const isValid = new Ajv2020({ strict: false });

  const SCHEMAS: readonly (readonly [given: string, schema: unknown, sent: unknown])[] = [
    ["no items", property({ type: "array" }), { type: "array", items: {} }],
    ["items for a tuple", property({ type: "array", items: [text, count] }), { items: { anyOf: [text, count] } }],
    [
      "prefixItems",
      property({ type: "array", prefixItems: [text, count], items: false }),
      { items: { anyOf: [text, count] } },
    ],
    ["an empty tuple", property({ type: "array", items: [] }), { items: {} }],
    ["a reference to nothing", property({ $ref: "#/$defs/A", description: "d" }), { description: "d" }],
    ["a reference to another document", property({ $ref: "https://example.com/a.json" }), {}],
    ["null in keywords", property({ type: "string", enum: null, minLength: null, title: null }), text],
    ["empty lists in keywords", property({ type: "string", enum: [], anyOf: [], properties: [] }), text],
    ["a type of another language", property({ type: "any", description: "d" }), { description: "d" }],
    ["types in capitals", property({ type: "STRING" }), text],
    ["required in a property", property({ type: "string", required: true }), text],
    ["text for a number", property({ type: "string", minLength: "1" }), text],
    ["bounds of draft 4", property({ type: "number", minimum: 0, exclusiveMinimum: true }), { exclusiveMinimum: 0 }],
    ["a repeated choice", property({ type: "string", enum: ["a", "a"] }), { type: "string", enum: ["a"] }],
    ["true for a property", property(true), {}],
    ["null for required and definitions", property(text, { required: null, $defs: null }), text],
    ["the name of an older draft", property(text, { $schema: "http://json-schema.org/draft-07/schema#" }), text],
  ];

  it.each(SCHEMAS)("with %s is sent as valid JSON Schema", (_, schema, sent) => {
    for (const dialect of ["openai", "anthropic"] as const) {
      const [tool] = adaptTools([{ name: "t", description: "", parameters: schema as JsonSchema }], dialect).tools;
      expect(isValid.validateSchema(tool?.parameters ?? {}), isValid.errorsText()).toBe(true);
      expect(tool?.parameters).toMatchObject({ type: "object", properties: { p: sent } });
    }
  });

  it("has only keywords of a value's type at Google", () => {
    const schema = property({ type: ["string", "array"], minLength: 1, maxItems: 3 });
    const [tool] = adaptTools([{ name: "t", description: "", parameters: schema as JsonSchema }], "google").tools;
    const alternatives = [
      { type: "string", minLength: 1 },
      { type: "array", items: { type: "string" }, maxItems: 3 },
    ];
    expect(tool?.parameters).toMatchObject({ properties: { p: { anyOf: alternatives } } });
  });
});
