import { describe, expect, it } from "vitest";
import { evalDefinitionSchema, evalNameSchema } from "../../src/evals/definition.js";

const BRIEF = {
  name: "brief",
  version: 1,
  kind: "rules",
  reference: false,
  criterion: "The answer is brief.",
  pass: { all: [{ feature: "answer_words", at_most: 25 }] },
  origin: { by: "person", seed: null, labels: null },
};

const parses = (changes: object) =>
  evalDefinitionSchema.safeParse(JSON.parse(JSON.stringify({ ...BRIEF, ...changes }))).success;
const text = (length: number) => "x".repeat(length);
const list = <T>(length: number, one: T): T[] => Array.from({ length }, () => one);
const asserting = (...all: readonly object[]) => ({ pass: undefined, kind: "assertions", answer: { all } });

describe("an eval definition", () => {
  it.each<[string, number, number, (size: number) => object]>([
    ["a criterion", 1, 1_000, (size) => ({ criterion: text(size) })],
    ["Python code", 1, 100_000, (size) => ({ pass: undefined, kind: "python", code: text(size) })],
    ["TypeScript code", 1, 100_000, (size) => ({ pass: undefined, kind: "typescript", code: text(size) })],
    ["a rubric", 1, 10_000, (size) => ({ pass: undefined, kind: "rubric", rubric: text(size), model: "openai/x" })],
    ["conditions", 1, 4, (size) => ({ pass: { all: list(size, { feature: "turns", at_most: 3 }) } })],
    ["assertions", 1, 20, (size) => asserting(...list(size, { contains: "x" }))],
    ["a string that answers contain", 1, 1_000, (size) => asserting({ contains: text(size) })],
    ["a string that answers lack", 1, 1_000, (size) => asserting({ lacks: text(size) })],
    ["a key of JSON", 1, 200, (size) => asserting({ json: [text(size)] })],
    [
      "cases",
      1,
      10_000,
      (size) => ({
        pass: undefined,
        kind: "cases",
        cases: list(size, { task: 1, must_contain: ["x"], must_cite: [] }),
      }),
    ],
  ])("can have %s of size %i to %i", (_, least, most, sized) => {
    const isValid = [least - 1, least, most, most + 1].map((size) => parses(sized(size)));
    expect(isValid).toEqual([false, true, true, false]);
  });

  it("requires a positive version, and rejects unknown properties", () => {
    expect([0, 1, 1.5].map((version) => parses({ version }))).toEqual([false, true, false]);
    expect(parses({ more: 1 })).toBe(false);
  });

  it("can have patterns of 1,000 characters and 100 keys of JSON, but no empty feature or term", () => {
    const sizes = [1_000, 1_001].map((size) => parses(asserting({ matches: text(size) })));
    expect([...sizes, ...[100, 101].map((size) => parses(asserting({ json: list(size, "x") })))]).toEqual([
      ...[true, false, true, false],
    ]);
    const cases = (must_contain: string[], must_cite: string[]) =>
      parses({ pass: undefined, kind: "cases", cases: [{ task: 1, must_contain, must_cite }] });
    expect([cases(["x"], ["y"]), cases([""], ["y"]), cases(["x"], [""])]).toEqual([true, false, false]);
    expect(parses({ pass: { all: [{ feature: "", at_most: 3 }] } })).toBe(false);
  });

  it("requires a name of 1 to 64 lowercase letters, digits and underscores", () => {
    const names = [text(64), text(65), "", "Brief", "1st", "a_1"];
    expect(names.map((name) => evalNameSchema.safeParse(name).success)).toEqual([
      true,
      false,
      false,
      false,
      false,
      true,
    ]);
  });
});
