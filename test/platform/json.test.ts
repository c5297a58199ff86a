import { describe, expect, it } from "vitest";
import { jsonObjectsIn } from "../../src/platform/json.js";

describe("jsonObjectsIn", () => {
  it.each<[string, string, unknown[]]>([
    ["the entire text", '{"a": 1}', [{ a: 1 }]],
    [
      "objects in a fence and in prose",
      'So:\n```json\n{"a": {"b": 2}}\n```\nor {"c": 3}.',
      [{ a: { b: 2 } }, { c: 3 }],
    ],
    ["objects whose strings contain braces and quotes", '{"a": "{\\"}"} {x}', [{ a: '{"}' }]],
    ["nothing in a text that contains no JSON", "{ a } and {b", []],
    ["a Python dict after an apostrophe", "{don't} {'a': 'b}', 'c': None}", [{ a: "b}", c: null }]],
    ["an object after an unclosed brace", 'if {x then {"a": 1}', [{ a: 1 }]],
  ])("finds %s", (_, text, expected) => {
    expect(jsonObjectsIn(text)).toEqual(expected);
  });

  it.each(["{", "{'"])("finds nothing in a megabyte of %s", (braces) => {
    expect(jsonObjectsIn(braces.repeat(1_000_000 / braces.length))).toEqual([]);
  });

  it("finds an object after a thousand unclosed braces", () => {
    expect(jsonObjectsIn(`${"{".repeat(1_000)} {"a": 1}`)).toEqual([{ a: 1 }]);
  });
});
