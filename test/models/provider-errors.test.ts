import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../src/models/model.js";
import { providerError, retryAfterMs, scrub, toModelError } from "../../src/models/provider-errors.js";

describe("toModelError", () => {
  test("does not change an internal error", () => {
    const fault = new TypeError("Cannot read properties of undefined");
    expect(toModelError(fault, ["key"])).toBe(fault);
    const wrongCall = Object.assign(new TypeError("bad argument"), { code: "ERR_INVALID_ARG_TYPE" });
    expect(toModelError(wrongCall, ["key"])).toBe(wrongCall);
  });

  test.each([
    ["ECONNRESET", "network"],
    ["ENOTFOUND", "network"],
    ["UND_ERR_SOCKET", "network"],
    ["ETIMEDOUT", "timeout"],
    ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ])("reads %s from the cause", (code, kind) => {
    const cause = Object.assign(new Error("deep down"), { code });
    const error = toModelError(new TypeError("fetch failed", { cause }), ["key"]);
    expect(error).toMatchObject({ kind, retryable: true, status: null });
    expect(String(error)).toContain(code);
  });

  test("names the invalid part of a reply", () => {
    const bad = z.object({ choices: z.array(z.string()) }).safeParse({ choices: 1 });
    expect(String(toModelError(bad.error, ["key"]))).toContain("choices");
  });

  test("keeps neither the SDK's error nor its key", () => {
    const sdk = Object.assign(new Error("401 bad key my-secret-key"), { status: 401 });
    const error = toModelError(sdk, ["my-secret-key"]);
    expect(error).toBeInstanceOf(ModelError);
    expect((error as ModelError).cause).toBeUndefined();
    expect(String(error)).not.toContain("my-secret-key");
  });
});

const httpError = (status: number, message: string, body: unknown = { error: { message } }, headers?: Headers) =>
  toModelError(Object.assign(new Error(message), { status, error: body, headers }), ["key"]);

describe("providerError", () => {
  it.each([
    [400, "prompt is too long: 210000 tokens > 200000 maximum"],
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"],
    [400, "This model's maximum context length is 128000 tokens."],
    [400, "Your input exceeds the context window of this model."],
    [400, "bad (context_length_exceeded)"],
    [400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    [400, "The input (140000 tokens) is longer than the model's context length (131072 tokens)."],
    [400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
    [400, "max_tokens must be at least 1, got -812."],
    [400, "Requested token count exceeds the model's maximum context length of 4096 tokens."],
    [400, "prompt too long; exceeded max context length by 4 tokens"],
    [400, "tokens to keep from the initial prompt is greater than the context length"],
    [400, "the model is loaded with context length of only 4096 tokens, which is not enough"],
    [400, "Input is too long for requested model."],
    [400, "Invalid request: Your request exceeded model token limit: 131072"],
    [400, "Range of input length should be [1, 30720]"],
    [422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193."],
    [400, "Prompt exceeds max length"],
    [400, "Please reduce the length of the messages or completion."],
    [400, "the request exceeds the available context size, try increasing it"],
    [500, "context shift is disabled"],
    [413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce"],
    [429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000."],
  ])("treats %i %s as a full context", (status, message) => {
    expect(httpError(status, message)).toMatchObject({ kind: "context_overflow", retryable: false });
  });

  it.each([
    [429, "Request too large: too many tokens per min", "rate_limit"],
    [400, "max_tokens is too large", "bad_request"],
    [400, "the value of temperature exceeds the limit of 2", "bad_request"],
    [400, "tool_choice is not supported", "bad_request"],
  ])("does not treat %i %s as a full context", (status, message, kind) => {
    expect(httpError(status, message)).toMatchObject({ kind });
  });

  const google = (message: string, details: readonly object[]) => ({
    error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details },
  });
  const violations = (quotaId: string, quotaValue = "15") => ({
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: [{ quotaId, quotaValue }],
  });
  const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.5s" };
  const QUOTA = "You exceeded your current quota, please check your plan and billing details.";

  it.each<[string, number, string, unknown, object]>([
    [
      "Gemini's per-minute limit, worded like an empty account",
      429,
      QUOTA,
      google(QUOTA, [violations("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), retryInfo]),
      { kind: "rate_limit", retryable: true, retryAfterMs: 1500 },
    ],
    [
      "Gemini's per-minute limit in an array",
      429,
      QUOTA,
      [google(QUOTA, [violations("GenerateContentInputTokensPerModelPerMinute-FreeTier"), retryInfo])],
      { kind: "rate_limit", retryable: true, retryAfterMs: 1500 },
    ],
    [
      "Gemini's per-minute limit in LiteLLM's words",
      429,
      `litellm.RateLimitError: {"message": "${QUOTA}", "status": "RESOURCE_EXHAUSTED"}`,
      null,
      { kind: "rate_limit", retryable: true },
    ],
    [
      "Gemini's per-day limit, with a wait in seconds",
      429,
      QUOTA,
      google(QUOTA, [violations("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retryInfo]),
      { kind: "unavailable", retryable: false },
    ],
    [
      "a model that is not in Gemini's free tier",
      429,
      QUOTA,
      google(QUOTA, [violations("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0"), retryInfo]),
      { kind: "unavailable", retryable: false },
    ],
    [
      "an empty OpenAI account",
      429,
      QUOTA,
      { error: { message: QUOTA, type: "insufficient_quota", code: "insufficient_quota" } },
      { kind: "unavailable", retryable: false },
    ],
    [
      "an empty Anthropic account",
      400,
      "Your credit balance is too low to access the Anthropic API.",
      {
        type: "error",
        error: { type: "invalid_request_error", message: "Your credit balance is too low to access …" },
      },
      { kind: "unavailable", retryable: false },
    ],
    [
      "an Anthropic spending limit",
      400,
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
      null,
      { kind: "unavailable", retryable: false },
    ],
    ["an empty DeepSeek account", 402, "Insufficient Balance", null, { kind: "unavailable", retryable: false }],
    [
      "an empty Moonshot account",
      429,
      "Your account is not active",
      { error: { type: "exceeded_current_quota_error", message: "Your account is not active" } },
      { kind: "unavailable", retryable: false },
    ],
    [
      "an input that OpenRouter flagged",
      403,
      "Your input was flagged",
      { error: { code: 403, message: "Your input was flagged", metadata: { reasons: ["violence"] } } },
      { kind: "refused", retryable: false },
    ],
    ["a refused key", 403, "no access", { error: { code: 403, message: "no access" } }, { kind: "auth" }],
    [
      "a refused Google key",
      400,
      "no",
      { error: { code: 400, status: "INVALID_ARGUMENT", message: "no", details: [{ reason: "API_KEY_INVALID" }] } },
      { kind: "auth", retryable: false },
    ],
    [
      "an overloaded server, by its code",
      400,
      "busy",
      { error: { code: "slow_down", message: "busy" } },
      { kind: "overloaded", retryable: true },
    ],
    [
      "the limit for a free model at OpenRouter",
      429,
      "Rate limit exceeded: free-models-per-day",
      { error: { code: 429, message: "Rate limit exceeded", metadata: { headers: { "X-RateLimit-Reset": "1000" } } } },
      { kind: "rate_limit", retryAfterMs: 0 },
    ],
  ])("recognizes %s", (_, status, message, body, expected) => {
    expect(httpError(status, message, body)).toMatchObject(expected);
  });

  it.each([
    [408, "timeout"],
    [409, "server"],
    [424, "server"],
    [425, "server"],
    [498, "overloaded"],
    [499, "timeout"],
    [504, "server"],
  ])("retries %i", (status, kind) => {
    expect(httpError(status, "no")).toMatchObject({ kind, retryable: true });
  });

  it.each([
    ["Please try again in 2h3m.", 7_380_000],
    ["Please try again in 7m12.5s.", 432_500],
    ["Please try again in 350ms.", 350],
    ["Please retry in 34.07s.", 34_070],
    ["Please retry after 26 seconds.", 26_000],
    ["Please try again later.", null],
  ])("reads the wait in %j, unless a header specifies one", (message, ms) => {
    expect(httpError(429, message)).toMatchObject({ retryAfterMs: ms });
    const headers = new Headers({ "retry-after": "3" });
    expect(httpError(429, message, null, headers)).toMatchObject({ retryAfterMs: 3000 });
  });
});

test.each([
  ["key is sk-proj-abcdef123456", "key is [key]"],
  ["Incorrect API key provided: sk-abcd***********wxyz.", "Incorrect API key provided: [key]."],
  ["AIzaSyD-abc_123 is wrong", "[key] is wrong"],
  ["Authorization: Bearer abc.def", "Authorization: Bearer [key]"],
  ["mine: secret-1\nnext   line", "mine: [key] next line"],
])("scrub redacts %j", (text, clean) => {
  expect(scrub(text, ["secret-1"])).toBe(clean);
});

const headers = (name: string, value: string) => new Headers([[name, value]]);

test.each([
  ["retry-after", "soon"],
  ["retry-after", ""],
  ["retry-after-ms", "x"],
  ["x-retry", "5"],
])("retryAfterMs returns null for %s: %j", (name, value) => {
  expect(retryAfterMs(headers(name, value))).toBeNull();
});

test.each([
  ["retry-after", "7", 7000],
  ["retry-after", "0.5", 500],
  ["retry-after", "-3", 0],
  ["retry-after-ms", "1250.5", 1250.5],
  ["retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", 0],
])("retryAfterMs reads %s: %s as %d ms", (name, value, ms) => {
  expect(retryAfterMs(headers(name, value))).toBe(ms);
});

test("retryAfterMs reads a date that is one hour ahead", () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const ms = retryAfterMs(headers("retry-after", inAnHour)) ?? 0;
  expect(ms).toBeGreaterThan(3_500_000);
  expect(ms).toBeLessThanOrEqual(3_600_000);
});

test("retryAfterMs prefers the exact header", () => {
  expect(retryAfterMs(new Headers({ "retry-after": "60", "retry-after-ms": "200" }))).toBe(200);
});

test("retryAfterMs finds Google's RetryInfo among other details", () => {
  const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3.5s" };
  expect(retryAfterMs(undefined, [{ "@type": "type.googleapis.com/google.rpc.Help" }, info])).toBe(3500);
  expect(retryAfterMs(undefined, [{ ...info, retryDelay: "later" }])).toBeNull();
});

describe("limits and refusals as other providers word them", () => {
  const kindOf = (status: number, error: object, headers = {}) =>
    providerError({ status, message: "", body: { error }, headers: new Headers(headers) });

  it.each<[number, object]>([
    [429, { message: "Too many tokens per day, please wait before trying again.", type: "ThrottlingException" }],
    [429, { message: "You are using a Trial key, which is limited to 1000 API calls / month." }],
    [429, { message: "Rate limit exceeded: free-models-per-day." }],
    [429, { message: "you have used up your daily free allocation of 10,000 neurons" }],
    [429, { message: "1304", code: "1304" }],
    [412, { message: "Account a is suspended, possibly due to reaching the monthly spending limit" }],
    [403, { message: "Sorry, your account balance is insufficient", code: 30001 }],
  ])("stop the run: %d %j", (status, error) => {
    expect(kindOf(status, error)).toMatchObject({ kind: "unavailable", retryable: false });
  });

  it.each<[object, object, number | null]>([
    [{ message: "Limit 10000 / day. Please try again in 8.64s." }, {}, 8_640],
    [{ message: "Too many requests per day." }, { "retry-after": "7" }, 7_000],
    [{ message: "50 per 86400s exceeded for UserByModelByDay. Please wait 70000 seconds before retrying." }, {}, 7e7],
    [{ message: "50,000 input tokens per minute", type: "rate_limit_error" }, {}, null],
  ])("are retried after the requested wait: 429 %j", (error, headers, retryAfterMs) => {
    expect(kindOf(429, error, headers)).toMatchObject({ kind: "rate_limit", retryable: true, retryAfterMs });
  });

  it.each<[number, object]>([
    [400, { message: "This prompt contains sensitive words that violate Google's Responsible AI practices." }],
    [400, { message: "Violated content safety policy" }],
    [400, { message: "Request blocked by guardrail" }],
    [400, { code: "InputTextSensitiveContentDetected", message: "x" }],
    [400, { code: "cyber_policy_violation", message: "x" }],
    [400, { message: "Output data may contain inappropriate content." }],
  ])("are treated as a refusal: %d %j", (status, error) => {
    expect(kindOf(status, error).kind).toBe("refused");
  });
});
