import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../src/models/model.js";
import { httpError, retryAfterMs, scrub, toModelError } from "../../src/models/provider-errors.js";

describe("toModelError", () => {
  test("leaves a fault of our own as it is", () => {
    const fault = new TypeError("Cannot read properties of undefined");
    expect(toModelError(fault, "key")).toBe(fault);
    const wrongCall = Object.assign(new TypeError("bad argument"), { code: "ERR_INVALID_ARG_TYPE" });
    expect(toModelError(wrongCall, "key")).toBe(wrongCall);
  });

  test.each([
    ["ECONNRESET", "network"],
    ["ENOTFOUND", "network"],
    ["UND_ERR_SOCKET", "network"],
    ["ETIMEDOUT", "timeout"],
    ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ])("reads %s from the cause", (code, kind) => {
    const cause = Object.assign(new Error("deep down"), { code });
    const error = toModelError(new TypeError("fetch failed", { cause }), "key");
    expect(error).toMatchObject({ kind, retryable: true, status: null });
    expect(String(error)).toContain(code);
  });

  test("tells where a reply is not of its form", () => {
    const bad = z.object({ choices: z.array(z.string()) }).safeParse({ choices: 1 });
    expect(String(toModelError(bad.error, "key"))).toContain("choices");
  });

  test("keeps neither the SDK's error nor its key", () => {
    const sdk = Object.assign(new Error("401 bad key my-secret-key"), { status: 401 });
    const error = toModelError(sdk, "my-secret-key");
    expect(error).toBeInstanceOf(ModelError);
    expect((error as ModelError).cause).toBeUndefined();
    expect(String(error)).not.toContain("my-secret-key");
  });
});

test.each([
  "prompt is too long: 210000 tokens > 200000 maximum",
  "This model's maximum context length is 128000 tokens.",
  "Your input exceeds the context window of this model.",
  "bad (context_length_exceeded)",
  "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
])("a context overflow: %s", (message) => {
  expect(httpError(400, message)).toMatchObject({ kind: "context_overflow", retryable: false });
});

test("a limit of tokens per minute is no context overflow", () => {
  expect(httpError(429, "Request too large: too many tokens per min").kind).toBe("rate_limit");
  expect(httpError(400, "max_tokens is too large").kind).toBe("bad_request");
});

test.each([
  ["key is sk-proj-abcdef123456", "key is [key]"],
  ["Incorrect API key provided: sk-abcd***********wxyz.", "Incorrect API key provided: [key]."],
  ["AIzaSyD-abc_123 is wrong", "[key] is wrong"],
  ["Authorization: Bearer abc.def", "Authorization: Bearer [key]"],
  ["mine: secret-1\nnext   line", "mine: [key] next line"],
])("scrub: %j", (text, clean) => {
  expect(scrub(text, "secret-1")).toBe(clean);
});

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
