import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../src/models/model.js";
import { providerError, scrub, toModelError } from "../../src/models/provider-errors.js";

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
      { error: { code: 429, message: "Rate limit exceeded", metadata: { headers: { "X-RateLimit-Reset": "30" } } } },
      { kind: "rate_limit", retryAfterMs: 30_000 },
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

describe("an error without a known code", () => {
  const kindOf = (status: number, message: string, code?: string) =>
    providerError({ status, message, body: { error: { message, code } } }).kind;

  it.each<[number, string, string?]>([
    [400, "The input length (9000) exceeds the session_len 8192"],
    [413, "Request body too large for gpt-4o model. Max size: 8000 tokens."],
    [400, "Prompt length 9000 is greater than max_seq_len 8192"],
    [400, "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"],
    [400, "prompt tokens too long"],
    [400, "Total tokens of image and text exceed max message tokens."],
    [400, "the total number of tokens exceeds model context length"],
    [400, "Input is longer than max context 8192"],
    [413, "Request exceeds the maximum size"],
    [400, "the max length of current question is 20480"],
    [
      400,
      "The provided prompt is 9000 tokens long, so generating 1 tokens requires a sequence length of 9001, but the maximum supported sequence length is just 8192!",
    ],
    [400, "max tokens of 8192 exceeded"],
    [400, "Requested tokens (9000) exceed context window of 8192"],
    [
      400,
      "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).",
    ],
    [400, "Input too long"],
    [400, "The request's token count is over the limit of 8192"],
    [400, "Your prompt has 9000 tokens, but this model supports at most 8192 tokens"],
    [400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."],
    [400, "Conversation is too long to process"],
    [400, "Context size exceeded"],
    [400, "input is too large for this model: 9000 > 8192"],
    [500, "input (9000 tokens) is too large to process. increase the physical batch size"],
    [400, "inputs tokens + max_new_tokens must be <= 4096. Given: 9000 inputs tokens and 100 max_new_tokens"],
    [400, "Input validation error: input must have less than 4096 tokens. Given: 9000"],
    [400, "The number of tokens in the prompt exceeds the maximum"],
    [400, "Please reduce the length of your prompt"],
    [400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 9000"],
  ])("is classified as context_overflow by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("context_overflow");
  });

  it.each<[number, string, string?]>([
    [400, "Your account has been flagged by our automated systems for repeatedly violating our usage policies."],
    [400, "Your access has been restricted due to repeated policy violations", "content_policy_violation"],
    [403, "Your organization has been suspended for violating the terms of service."],
    [400, "This organization has been disabled."],
    [400, "User location is not supported for the API use."],
    [400, "Budget has been exceeded! Current cost: 10.5, Max budget: 10.0"],
    [400, "ExceededBudget: User=default_user over budget. Spend=2.0, Budget=1.0"],
    [400, "Your team ran out of credits. Please top up."],
    [403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"],
    [400, "Your credit balance is too low to access the Anthropic API."],
    [400, "You have no remaining credits"],
    [429, "Your team X has either used all available credits or reached its monthly spending limit."],
    [400, "You need to enable billing for this project"],
    [400, "Free quota has been exhausted"],
    [400, "The model is not available in your region"],
  ])("is classified as unavailable by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("unavailable");
  });

  it.each<[number, string, string?]>([
    [400, "Incorrect API key provided: sk***st. You can obtain an API key from https://console.x.ai."],
    [400, "API key not valid. Please pass a valid API key."],
    [400, "API key expired. Please renew the API key."],
    [400, "Authentication Error, No api key passed in."],
    [
      400,
      "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...st, Key Hash (Token) =abc. Unable to find token in cache or `LiteLLM_VerificationTokenTable`",
    ],
    [400, "Invalid token"],
    [400, "The API Key appears to be invalid or may have expired. Please verify your credentials and try again."],
    [400, "The provided access token is expired"],
    [400, "Malformed API Key passed in. Ensure Key has `Bearer ` prefix."],
    [400, "invalid x-api-key"],
  ])("is classified as auth by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("auth");
  });

  it.each<[number, string, string?]>([
    [
      400,
      "/chat/completions: Invalid model name passed in model=foo. Call `/v1/models` to view available models for your key.",
    ],
    [400, "The model `llama3-70b-8192` has been decommissioned and is no longer supported. Please refer to x"],
    [400, "registry.ollama.ai/library/deepseek-r1:14b does not support tools"],
    [400, "Model not exist"],
    [400, "The requested model is not supported."],
    [400, "foo is not a valid model ID"],
    [400, "Unsupported model: gpt-x"],
    [400, "Tool calling is not supported with this model"],
    [400, "tool use is not supported for this model"],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [404, "No endpoints found that support tool use."],
    [400, "Your team does not have access to model gpt-x"],
    [400, "team not allowed to access model. This team can only access models=['a']. Tried to access b"],
    [400, "key not allowed to access model"],
    [400, "The model has been retired"],
    [400, "You have not been granted access to the model"],
    [400, "This model does not support function calling"],
    [400, "`tools` is not supported in this model."],
  ])("is classified as not_found by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("not_found");
  });

  it.each<[number, string, string?]>([
    [
      400,
      "Your request was flagged as potentially violating our usage policy. Please try again with a different prompt.",
      "invalid_prompt",
    ],
    [400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."],
    [400, "Output blocked by content filtering policy"],
    [400, "Content Exists Risk"],
    [400, "The request was rejected because it was considered high risk"],
    [400, "This request has been flagged. Your account may be suspended if you continue."],
    [400, "Input data may contain inappropriate content."],
  ])("is classified as refused by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("refused");
  });

  it.each<[number, string, string?]>([
    [400, "temperature must be at most 1"],
    [400, "messages.2.assistant.reasoning_content: property is unsupported"],
    [400, "Invalid schema for function 'q_no_items': In context=('properties', 'list'), array schema missing items."],
    [
      400,
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 150 instead.",
    ],
    [400, "messages: roles must alternate between user and assistant"],
    [400, "messages.1.content.0: Invalid `signature` in `thinking` block"],
    [400, "System role not supported"],
    [400, "Invalid value: 'tool'. Supported values are: 'system', 'assistant', 'user'."],
    [400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."],
    [
      400,
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ],
  ])("is classified as bad_request by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("bad_request");
  });

  it.each<[number, string, string?]>([
    [429, "Quota exceeded for quota metric 'Generate Content API requests per minute'"],
    [
      429,
      "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.",
    ],
    [429, "Your account has reached its rate limit"],
    [429, "Number of request tokens has exceeded your per-minute rate limit"],
  ])("is classified as rate_limit by its words: %i %s", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("rate_limit");
  });

  it("is about one prompt if a firewall blocks it, and shows only the title of its page", () => {
    const page =
      "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>…</body></html>";
    expect(httpError(403, page, null)).toMatchObject({
      kind: "bad_request",
      message: "403 the server returned a web page: Attention Required! | Cloudflare",
    });
    expect(httpError(401, page, null)).toMatchObject({ kind: "auth" });
  });

  it("lists the fields that a FastAPI server rejects", () => {
    const detail = [
      { type: "extra_forbidden", loc: ["body", "stream"], msg: "Extra inputs are not permitted", input: {} },
    ];
    expect(httpError(422, "", { detail })).toMatchObject({
      message: "422 body.stream: Extra inputs are not permitted",
    });
  });

  it.each([
    [500, "false", false],
    [409, "true", true],
    [400, "true", true],
    [401, "true", false],
  ])("with status %i and x-should-retry: %s is retried: %s", (status, says, retryable) => {
    expect(httpError(status, "x", {}, new Headers({ "x-should-retry": says }))).toMatchObject({ retryable });
  });

  it("is a proxy's if the status is 407, and stops the run", () => {
    const error = httpError(407, "<html><title>Access Denied</title></html>", null);
    expect(error).toMatchObject({ kind: "network", retryable: false, unreachable: true });
    expect(String(error)).toContain("HTTP_PROXY");
  });
});
