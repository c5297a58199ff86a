import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repairArguments } from "../../src/tools/arguments/repair-arguments.js";
import { context, type DemoTools, openDemoTools } from "./demo-tools.js";

const schema = {
  type: "object",
  properties: {
    query: { type: "string" },
    limit: { type: "integer" },
    score: { type: "number" },
    exact: { type: "boolean" },
    filter: { type: "object" },
    sources: { type: "array", items: { type: "string" } },
    day: { anyOf: [{ type: "string" }, { type: "null" }] },
  },
  required: ["query", "sources"],
};

describe("repairArguments", () => {
  it.each([
    ["an array as a JSON string", { sources: '["<a@b>"]' }, { sources: ["<a@b>"] }],
    ["one string for an array", { sources: "<a@b>" }, { sources: ["<a@b>"] }],
    ["null if an array is required", { sources: null }, { sources: [] }],
    ["null if the parameter is optional", { limit: null, query: "a" }, { query: "a" }],
    ["a whole number as a string", { limit: "5" }, { limit: 5 }],
    ["a number as a string", { score: " 0.5 " }, { score: 0.5 }],
    ["a whole number as a string if a number is expected", { score: "5" }, { score: 5 }],
    ["a boolean as a string", { exact: "true" }, { exact: true }],
    ["a boolean in Python's spelling", { exact: "False" }, { exact: false }],
    ["a Python list as a string", { sources: "['<a@b>', \"<c@d>\",]" }, { sources: ["<a@b>", "<c@d>"] }],
    ["an empty string if an optional number is expected", { limit: "", query: "a" }, { query: "a" }],
    ["an object as a JSON string", { filter: '{"a":1}' }, { filter: { a: 1 } }],
  ])("repairs %s", (_, args, value) => {
    const repaired = repairArguments(schema, args);
    expect(repaired.value).toEqual(value);
    expect(repaired.repairs).toHaveLength(1);
  });

  it.each([
    ["valid arguments", { query: "5", limit: 5, sources: [] }],
    ["null if the schema allows it", { day: null }],
    ["null if a string is required", { query: null }],
    ["a number if a string is expected", { query: 5 }],
    ["a fraction if a whole number is expected", { limit: "2.5" }],
    ["words if a number is expected", { limit: "ten" }],
    ["an unknown parameter", { other: "5" }],
    ["something that is not an object", ["query"]],
  ])("does not change %s", (_, args) => {
    expect(repairArguments(schema, args)).toEqual({ value: args, repairs: [] });
  });
});

describe("a tool call with repaired arguments", () => {
  let demo: DemoTools;
  beforeAll(async () => {
    demo = await openDemoTools();
  });
  afterAll(() => demo.close());

  it("runs, and its result lists the repairs", async () => {
    const args = { answer: "42", sources: '["<a@b>"]' };
    expect(await demo.tool("return_final_answer").call(args, context)).toMatchObject({
      ok: true,
      final: { answer: "42", sources: ["<a@b>"] },
      repairs: ["sources: string parsed as array"],
    });
  });

  it("lists no repairs if the arguments are valid", async () => {
    expect(await demo.tool("return_final_answer").call({ answer: "42", sources: [] }, context)).not.toHaveProperty(
      "repairs",
    );
  });

  it("causes an error about its original arguments if they are still invalid after the repair", async () => {
    const { kind, error } = await demo.refusal("return_final_answer", { answer: 42, sources: "<a@b>" });
    expect(kind).toBe("bad_arguments");
    expect(error).toContain("sources");
  });
});
