import { expect, it } from "vitest";
import { parseRetryAfter } from "../../src/platform/http.js";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

it.each([
  [undefined, null],
  [null, null],
  ["", null],
  ["soon", null],
  ["0", 0],
  [" 12 ", 12_000],
  ["0.5", 500],
  ["-3", 0],
  ["Thu, 01 Jan 2026 12:00:30 GMT", 30_000],
  ["Thu, 01 Jan 2026 11:00:00 GMT", 0],
])("Retry-After: %j asks for %j ms", (value, ms) => {
  expect(parseRetryAfter(value, NOW)).toBe(ms);
});
