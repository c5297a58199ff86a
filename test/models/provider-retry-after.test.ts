import { expect, test } from "vitest";
import { retryAfterMs } from "../../src/models/provider-errors.js";

const headers = (name: string, value: string) => new Headers([[name, value]]);

test.each([
  ["retry-after", "soon"],
  ["retry-after", ""],
  ["retry-after-ms", "x"],
  ["x-retry", "5"],
])("nothing in %s: %j", (name, value) => {
  expect(retryAfterMs(headers(name, value))).toBeNull();
});

test.each([
  ["retry-after", "7", 7000],
  ["retry-after", "0.5", 500],
  ["retry-after", "-3", 0],
  ["retry-after-ms", "1250.5", 1250.5],
  ["retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", 0],
])("%s: %s is %d ms", (name, value, ms) => {
  expect(retryAfterMs(headers(name, value))).toBe(ms);
});

test("a date in an hour", () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const ms = retryAfterMs(headers("retry-after", inAnHour)) ?? 0;
  expect(ms).toBeGreaterThan(3_500_000);
  expect(ms).toBeLessThanOrEqual(3_600_000);
});

test("the exact header goes first", () => {
  expect(retryAfterMs(new Headers({ "retry-after": "60", "retry-after-ms": "200" }))).toBe(200);
});

test("Google's RetryInfo, among other details", () => {
  const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3.5s" };
  expect(retryAfterMs(undefined, [{ "@type": "type.googleapis.com/google.rpc.Help" }, info])).toBe(3500);
  expect(retryAfterMs(undefined, [{ ...info, retryDelay: "later" }])).toBeNull();
});
