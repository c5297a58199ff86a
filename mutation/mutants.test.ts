import { expect, it } from "vitest";
import { mutantsOf, mutantsOfText } from "./mutants.js";
import explained from "./survivors.json" with { type: "json" };

/** The text after each mutant in turn. */
const mutated = (text: string) =>
  mutantsOfText("some.ts", text).map(
    ({ start, end, replacement }) => text.slice(0, start) + replacement + text.slice(end),
  );

it.each([
  ["a < b;", ["a <= b;"]],
  ["a >= b;", ["a > b;"]],
  ["a === b;", ["a !== b;"]],
  ["a && b;", ["a || b;"]],
  ["a - b;", ["a + b;"]],
  ["sum += a;", ["sum -= a;"]],
  ["f(1_000);", ["f((1_000 + 1));"]],
  ["f(true, false);", ["f(false, false);", "f(true, true);"]],
  ["!found;", ["found;"]],
  ["if (a) b();", ["if (false) b();"]],
  ["list.some(f);", ["list.every(f);"]],
  ["Math.max(a, b);", ["Math.min(a, b);"]],
])("mutants of %j include %j", (text, expected) => {
  expect(mutated(text)).toEqual(expected);
});

it.each([
  ["types", "type A = 1 | 2; interface B { readonly some: true } let c: 1;"],
  ["imports", 'import { a } from "b";'],
  ["joined strings", 'const name = first + "-";'],
  ["a property that is not called", "const limits = range.max;"],
  ["a method of Object.prototype", "a.toString();"],
])("mutants do not change %s", (_, text) => {
  expect(mutated(text)).toEqual([]);
});

it("mutants record the line of the change", () => {
  const [mutant] = mutantsOfText("some.ts", "const a = b;\n  return a > c;\n");
  expect(mutant).toMatchObject({ file: "some.ts", line: 2, code: "return a > c;", original: ">", replacement: ">=" });
});

it("mutants are listed in the order of the text", () => {
  const starts = mutantsOfText("some.ts", "if (a > 1 && !b) c(2);").map(({ start }) => start);
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
  expect(starts.length).toBe(6);
});

it("mutants with a reason in survivors.json exist", () => {
  const missing = explained.filter(
    ({ file, code, replacement }) =>
      !mutantsOf(file).some((mutant) => mutant.code === code && mutant.replacement === replacement),
  );
  expect(missing).toEqual([]);
});
