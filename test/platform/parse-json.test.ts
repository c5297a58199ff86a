import { expect, it } from "vitest";
import { parseJsonOrNull } from "../../src/platform/json.js";

it.each([
  ['{"a":[1]}', { a: [1] }],
  ["null", null],
  ["", null],
  ['{"a":', null],
  ["{'a':1}", null],
])("%j is %j", (text, value) => {
  expect(parseJsonOrNull(text)).toEqual(value);
});
