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
    [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"],
    [400, "Your input exceeds the context window of this model."],
    [400, "bad (context_length_exceeded)"],
    [400, "The input (140000 tokens) is longer than the model's context length (131072 tokens)."],
    [400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
    [400, "max_tokens must be at least 1, got -812."],
    [400, "prompt too long; exceeded max context length by 4 tokens"],
    [400, "the model is loaded with context length of only 4096 tokens, which is not enough"],
    [400, "Invalid request: Your request exceeded model token limit: 131072"],
    [400, "Prompt exceeds max length"],
    [400, "model max length exceeded, max length:8192"],
    [400, "Current length is 13216 while limit is 8192"],
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

describe("limits and refusals in other providers' words", () => {
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
  ])("stop the run (%d %j)", (status, error) => {
    expect(kindOf(status, error)).toMatchObject({ kind: "unavailable", retryable: false });
  });

  it.each<[object, object, number | null]>([
    [{ message: "Limit 10000 / day. Please try again in 8.64s." }, {}, 8_640],
    [{ message: "Too many requests per day." }, { "retry-after": "7" }, 7_000],
    [{ message: "50 per 86400s exceeded for UserByModelByDay. Please wait 70000 seconds before retrying." }, {}, 7e7],
    [{ message: "50,000 input tokens per minute", type: "rate_limit_error" }, {}, null],
  ])("lead to a retry after the requested wait (429 %j)", (error, headers, retryAfterMs) => {
    expect(kindOf(429, error, headers)).toMatchObject({ kind: "rate_limit", retryable: true, retryAfterMs });
  });

  it.each<[number, object]>([
    [400, { message: "This prompt contains sensitive words that violate Google's Responsible AI practices." }],
    [400, { message: "Violated content safety policy" }],
    [400, { message: "Request blocked by guardrail" }],
    [400, { code: "InputTextSensitiveContentDetected", message: "x" }],
    [400, { code: "cyber_policy_violation", message: "x" }],
    [400, { message: "Output data may contain inappropriate content." }],
  ])("count as the model's refusal (%d %j)", (status, error) => {
    expect(kindOf(status, error).kind).toBe("refused");
  });
});

describe("an error without a known code", () => {
  const at400 = (messages: readonly string[]) => messages.map((message): [number, string] => [400, message]);
  const kindOf = (status: number, message: string, code?: string) =>
    providerError({ status, message, body: { error: { message, code } } }).kind;

  it.each<[number, string, string?]>([
    ...at400([
      "The input length (9000) exceeds the session_len 8192",
      "Prompt length 9000 is greater than max_seq_len 8192",
      "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)",
      "prompt tokens too long",
      "Total tokens of image and text exceed max message tokens.",
      "the total number of tokens exceeds model context length",
      "Input is longer than max context 8192",
      "the max length of current question is 20480",
      "The provided prompt is 9000 tokens long, so generating 1 tokens requires a sequence length of 9001, but the maximum supported sequence length is just 8192!",
      "max tokens of 8192 exceeded",
      "Requested tokens (9000) exceed context window of 8192",
      "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).",
      "Input too long",
      "The request's token count is over the limit of 8192",
      "Your prompt has 9000 tokens, but this model supports at most 8192 tokens",
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
      "Conversation is too long to process",
      "Context size exceeded",
      "input is too large for this model: 9000 > 8192",
      "inputs tokens + max_new_tokens must be <= 4096. Given: 9000 inputs tokens and 100 max_new_tokens",
      "Input validation error: input must have less than 4096 tokens. Given: 9000",
      "The number of tokens in the prompt exceeds the maximum",
      "Please reduce the length of your prompt",
      "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 9000",
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens (8000 in the messages, 1000 in the functions). Please reduce the length of the messages or functions.",
      "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
      "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      "The prompt is too long: 140000, model maximum context length: 131071",
      "Requested token count exceeds the model's maximum context length of 65536 tokens. You requested a total of 70000 tokens",
      "too many tokens: total number of tokens in the conversation cannot exceed 128000",
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens",
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096)",
      "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
      "ValidationException: Input is too long for requested model.",
      "ValidationException: The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
      "litellm.ContextWindowExceededError: litellm.BadRequestError: This model's maximum context length is 8192 tokens.",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
      "Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count and try again.",
      "Input length 9000 exceeds maximum allowed length 8192",
      "The total length of the prompt and the completion exceeds the context window",
      "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
      "Requested tokens (9000) exceed context window of 4096",
      "input tokens (9000) + max_new_tokens must be less than or equal to 8192",
      "This model supports a maximum of 8192 input tokens, but 9000 were provided",
      "Your input is too long. Max input length is 8192 tokens, but you supplied 9000 tokens.",
      "The message you submitted was too long, please reload the conversation and submit something shorter.",
      "context window exceeded",
      "Sequence length 9000 is larger than the maximum of 8192",
      "Token limit exceeded: 9000 > 8192",
      "prompt token count of 140000 exceeds the limit of 128000",
      "The length of input tokens (9000) is out of range. It must be less than 8192.",
      "Max context reached",
      "Prompt of 9000 tokens does not fit into 8192",
      "max_tokens (512) + prompt tokens (200000) is above the model's window of 200000",
      "Prompt has 5000 tokens, but the context can only hold 4096",
      "Model max_seq_len 8192 reached: prompt has 9000 tokens",
      "Not enough room in the context: prompt uses 4090 of 4096 tokens",
    ]),
    [413, "Request body too large for gpt-4o model. Max size: 8000 tokens."],
    [413, "Request exceeds the maximum size"],
    [500, "input (9000 tokens) is too large to process. increase the physical batch size"],
    [422, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"],
    [
      422,
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
    ],
    [
      400,
      "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
      "exceed_context_size_error",
    ],
    [500, "the request exceeds the available context size. try increasing the context size or enable context shift"],
    [
      400,
      "Invalid 'input[3].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.",
      "string_above_max_length",
    ],
    [
      400,
      "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.",
      "string_above_max_length",
    ],
    [413, "Request Entity Too Large"],
    [400, "model_max_prompt_tokens_exceeded", "model_max_prompt_tokens_exceeded"],
  ])("means context_overflow because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("context_overflow");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "Your account has been flagged by our automated systems for repeatedly violating our usage policies.",
      "This organization has been disabled.",
      "User location is not supported for the API use.",
      "Budget has been exceeded! Current cost: 10.5, Max budget: 10.0",
      "ExceededBudget: User=default_user over budget. Spend=2.0, Budget=1.0",
      "Your team ran out of credits. Please top up.",
      "Your credit balance is too low to access the Anthropic API.",
      "You have no remaining credits",
      "You need to enable billing for this project",
      "Free quota has been exhausted",
      "The model is not available in your region",
      "Your account does not have enough credits to run this request.",
      "ExceededTokenBudget: Current spend for token: 7.2e-05; Max Budget for Token: 2e-07",
      "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
      "Billing account for project 12 is not found or disabled",
      "FAILED_PRECONDITION: Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.",
      "Sorry, your account has been temporarily suspended for abuse",
      "Insufficient wallet balance",
      "Your prepaid balance has been used up",
      "This key has reached its spend cap of $5.00",
      "Zero balance. Please recharge",
      "The account is on hold. Please contact support.",
      "INVALID_PAYMENT_INSTRUMENT: A valid payment instrument must be provided.",
      "Your organization must be verified to use the model `gpt-5`. Please go to the settings page",
      "Your access to this model has been revoked because of repeated violations of our usage policies",
      "Your IP address is not allowed for this project",
      "You're out of extra usage. Add more in the settings and keep going.",
      "Your trial has ended. Please upgrade to continue.",
      "Subscription required to use this model",
      "Payment method declined",
      "Your wallet is empty, top up to continue",
      "Please verify your email address before using the API",
      "This user has exceeded their monthly allowance",
      "Upgrade your plan to use this model",
      "Access denied, please make sure your account is in good standing.",
      "You do not have access to the organization tied to the API key.",
      "You must be a member of an organization to use the API.",
      "Please top up your account to continue using the API.",
      "token quota is not enough, token remain quota: $0.01, need quota: $0.02",
      "余额不足或无可用资源包,请充值。",
    ]),
    [403, "This API key has no remaining budget"],
    [429, "You've reached your monthly usage cap. Upgrade to continue."],
    [400, "Your access has been restricted due to repeated policy violations", "content_policy_violation"],
    [403, "Your organization has been suspended for violating the terms of service."],
    [403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"],
    [429, "Your team X has either used all available credits or reached its monthly spending limit."],
    [
      403,
      "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai/team/x.",
    ],
    [402, "Your organization has run out of credits. Please add billing information"],
    [403, "The API key's project has exceeded its spend limit"],
    [400, "Budget has been exceeded: Team=x Current cost: 1, Max budget: 0.5", "budget_exceeded"],
    [402, "Payment Required"],
    [
      402,
      "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 312.",
    ],
    [
      403,
      "Access denied, please make sure your account is in good standing. For details, see: https://help.aliyun.com/zh/model-studio/error-code#overdue-payment",
      "Arrearage",
    ],
    [400, "Access denied, please make sure your account is in good standing.", "Arrearage"],
    [403, "This API key has been disabled because your trial has expired"],
    [429, "Inactive subscription or usage limit reached"],
    [
      400,
      "Organization has been restricted. Please reach out to support if you believe this was in error.",
      "organization_restricted",
    ],
    [403, "Your request has been blocked because your organization's usage limit has been reached"],
    [402, "You have depleted your monthly included credits. Purchase pre-paid credits"],
    [403, "SubscriptionNotActive: the subscription is not in an active state"],
    [400, "Unsupported country, region, or territory", "unsupported_country_region_territory"],
    [403, "Country, region, or territory not supported"],
    [403, "This API method requires billing to be enabled. Please enable billing on project #1"],
    [403, "account_deactivated: this workspace was deactivated"],
    [403, "The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly"],
    [403, "this model requires a subscription, upgrade for access"],
    [429, "Your prepayment credits are depleted. Please go to AI Studio to manage your billing.", "RESOURCE_EXHAUSTED"],
    [429, "Your project has exceeded its monthly spending cap.", "RESOURCE_EXHAUSTED"],
    [429, "You have exceeded your monthly quota"],
    [500, "model requires more system memory (8.4 GiB) than is available (3.2 GiB)"],
  ])("means unavailable because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("unavailable");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "Incorrect API key provided: sk***st. You can obtain an API key from https://console.x.ai.",
      "API key not valid. Please pass a valid API key.",
      "API key expired. Please renew the API key.",
      "Authentication Error, No api key passed in.",
      "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...st, Key Hash (Token) =abc. Unable to find token in cache or `LiteLLM_VerificationTokenTable`",
      "Invalid token",
      "The API Key appears to be invalid or may have expired. Please verify your credentials and try again.",
      "The provided access token is expired",
      "Malformed API Key passed in. Ensure Key has `Bearer ` prefix.",
      "invalid x-api-key",
      "API key not found. Please pass a valid API key.",
      "The incoming token has expired",
      "Invalid Authentication",
      "No auth credentials found",
      "invalid api token",
      "The security token included in the request is invalid.",
      "Your API key was revoked",
      "Unauthorized: bad credentials",
      "Authorization header is missing",
      "Please provide an API key",
      "You didn't provide an API key.",
      "JWT is malformed",
      "Cannot decode API key",
      "API token is not authorized for this resource",
      "Virtual key vk-123 is not valid",
      "token expired or incorrect",
      "Not authenticated",
      "The API key has been deactivated",
      "Trial key expired. Contact sales.",
      "No cookie auth credentials found",
      "This credential is only authorized for use with another program.",
    ]),
    [403, "The security token included in the request is expired"],
    [403, "Access denied due to invalid subscription key or wrong API endpoint."],
    [400, "User does not have permission 'Can Query' on the endpoint", "PERMISSION_DENIED"],
    [400, "Your account has insufficient permissions to use this server"],
  ])("means auth because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("auth");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "/chat/completions: Invalid model name passed in model=foo. Call `/v1/models` to view available models for your key.",
      "The model `llama3-70b-8192` has been decommissioned and is no longer supported. Please refer to x",
      "registry.ollama.ai/library/deepseek-r1:14b does not support tools",
      "Model not exist",
      "The requested model is not supported.",
      "This action doesn't support the model that you provided. Try again with a supported text or chat model.",
      "Invocation of model ID some-model with on-demand throughput isn’t supported.",
      "foo is not a valid model ID",
      "Not supported model foo",
      "Unsupported model: gpt-x",
      "Tool calling is not supported with this model",
      "tool use is not supported for this model",
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      "Your team does not have access to model gpt-x",
      "team not allowed to access model. This team can only access models=['a']. Tried to access b",
      "key not allowed to access model",
      "The model has been retired",
      "You have not been granted access to the model",
      "This model does not support function calling",
      "`tools` is not supported in this model.",
      "The model `foo` does not exist or you do not have access to it.",
      "Unable to access model foo. Please visit https://api.together.ai/models to view the list of supported models.",
      "The provided model identifier is invalid.",
      "Invocation of model ID anthropic.claude-x with on-demand throughput isn't supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
      "model 'foo' not found, try pulling it first",
      "No models loaded. Please load a model in the developer page or use the `lms load` command.",
      "foo is not supported for chat completions",
      "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
      "Model foo is currently unavailable in your plan",
      "You don't have access to the model with the specified model ID.",
      "This model is not available on your plan",
      "The requested operation is not supported by model `foo`: tool calling",
      "Function calling is not enabled for models/gemma-3-27b-it",
      "model does not support tool use in streaming mode",
      "Tool use with function calling is unsupported",
      "The model foo has been shut down on 2026-05-01",
      "model foo has reached its end of life",
      "There are no healthy deployments for this model",
      "Invalid model: foo",
      "LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You passed model=foo",
      "Model not supported: foo",
      "DeploymentNotFound: The API deployment for this resource does not exist",
      "invalid request: the model 'command-r' was removed on September 15, 2026.",
      "No model with that name",
      "The model abc cannot be found",
      "The model 'gpt-x' is only supported in v1/responses and not in v1/chat/completions.",
    ]),
    [404, "No endpoints found that support tool use."],
    [400, "The chatCompletion operation does not work with the specified model, foo.", "OperationNotSupported"],
    [400, "Unavailable model: foo", "unavailable_model"],
    [500, "tools param requires --jinja flag"],
    [501, "This server does not support tools"],
    [400, "模型不存在，请检查模型代码。", "1211"],
  ])("means not_found because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("not_found");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      "Output blocked by content filtering policy",
      "Content Exists Risk",
      "The request was rejected because it was considered high risk",
      "This request has been flagged. Your account may be suspended if you continue.",
      "Input data may contain inappropriate content.",
      "Your request was rejected as a result of our safety system.",
      "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
      "Prompt contains prohibited content",
      "Violated guardrail policy",
      "The model output was blocked by the content safety policy",
      "Presidio: Blocked entity detected: EMAIL_ADDRESS by Guardrail: pii",
      "Lakera: prompt injection detected, request blocked",
      "Your prompt was flagged by moderation for violence",
      "Output text data may contain inappropriate content.",
      'Content blocked: keyword "x" detected',
      "Refused for safety reasons: your prompt",
      "The input text contains content that is not allowed by our safety policies",
      "Your message contains sexual content and cannot be processed",
      "PII detected: EMAIL_ADDRESS in messages[1].content; request blocked",
    ]),
    [
      400,
      "Your request was flagged as potentially violating our usage policy. Please try again with a different prompt.",
      "invalid_prompt",
    ],
    [
      403,
      "Content violates usage guidelines. Team: x, API key ID: y, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_CSAM",
    ],
    [451, "content blocked"],
    [400, "Prompt Security: prompt was blocked", "guardrail_violation"],
    [403, "PROHIBITED_CONTENT"],
    [446, "The guardrail checks defined in the config failed."],
    [424, "Response blocked due to security configurations"],
    [403, "The prompt was flagged as unsafe", "PERMISSION_DENIED"],
  ])("means refused because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("refused");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "temperature must be at most 1",
      "messages.2.assistant.reasoning_content: property is unsupported",
      "messages: roles must alternate between user and assistant",
      "messages.1.content.0: Invalid `signature` in `thinking` block",
      "System role not supported",
      "Invalid value: 'tool'. Supported values are: 'system', 'assistant', 'user'.",
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
      "max_tokens must be less than or equal to 8192",
      "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for claude-3-5",
      "top_p must be between 0 and 1",
      "metadata key exceeds the maximum length of 64",
      "stop sequences: at most 4 allowed",
      "thinking.budget_tokens must be less than max_tokens",
      "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
      "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
      "Duplicate value for 'tool_call_id' of 'call_1' in message[4]",
      "This model does not support image input",
      "This model does not support the effort parameter.",
      "Please provide at least one message",
      "Unknown key 'foo' in the properties of the request",
      "The value of response_format is only supported with a schema",
    ]),
    [
      400,
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
      "integer_below_min_value",
    ],
    [
      400,
      "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 44 instead.",
      "string_above_max_length",
    ],
  ])("means bad_request because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("bad_request");
  });

  it.each<[number, string, string?]>([
    ...at400([
      "Invalid schema for function 'q_no_items': In context=('properties', 'list'), array schema missing items.",
      "You may not include more than 128 tools in your request.",
      "* tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be specified.",
      "'tools' : maximum number of items is 128",
      "Too many tools provided: 150, the limit is 64.",
      "The number of functions exceeds the limit of 128",
      "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
      "tools: Tool names must be unique.",
      "Duplicate function declaration found: email_search",
    ]),
    [
      400,
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 150 instead.",
      "array_above_max_length",
    ],
    [422, "body.tools: List should have at most 128 items after validation, not 150"],
    [400, "Function name must be a-z, A-Z, 0-9, or contain underscores and dashes", "invalid_function_name"],
  ])("means bad_tools because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("bad_tools");
  });

  it.each<[number, string, string?]>([
    [429, "Quota exceeded for quota metric 'Generate Content API requests per minute'"],
    [
      429,
      "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.",
    ],
    [429, "Your account has reached its rate limit"],
    [429, "Number of request tokens has exceeded your per-minute rate limit"],
    [
      429,
      "Rate limit reached for model `llama` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000.",
    ],
    [429, "Requests rate limit exceeded"],
    [429, "Service tier capacity exceeded for this model.", "3505"],
    [429, "Too many requests. Your quota will be restored shortly"],
    [429, "You have exceeded the call rate limit for your current AIServices S0 pricing tier."],
    [400, "ThrottlingException: Too many tokens, please wait before trying again.", "ThrottlingException"],
    [429, "Rate limit exceeded. Purchase credits to raise your limit"],
    [429, "Concurrency limit exceeded for account. Please retry later"],
  ])("means rate_limit because of its words (%i %s)", (status, message, code) => {
    expect(kindOf(status, message, code)).toBe("rate_limit");
  });

  it.each([
    "tool call validation failed: parameters for tool search did not match schema: errors: [missing properties: 'query']",
    "Failed to parse the function call of the model",
    "Failed to generate tool_calls. Please adjust your prompt.",
    "Input validation error: the model generated an invalid tool call",
    "Unexpected token 12606 while expecting start token 200006",
    "Tool calls could not be parsed",
  ])("concerns a tool call of the model (%s)", (message) => {
    expect(kindOf(400, message)).toBe("broken_call");
  });

  it.each([
    `error parsing tool call: raw='{"query":"a', err=unexpected end of JSON input`,
    "XML syntax error on line 4: element <function> closed by </parameter>",
    'Failed to parse input at pos 123: <tool_call>{"name":',
    'unexpected tokens remaining in message header: Some("to=functions.email_search")',
    "Failed to parse fc related info to json format!",
  ])("concerns a tool call of the model, even with status 500 (%s)", (message) => {
    expect(kindOf(500, message)).toBe("broken_call");
  });

  it.each([
    [400, "Could not parse the function schema of search", "bad_request"],
    [500, "XML syntax error in the configuration", "server"],
    [500, "failed to parse config", "server"],
  ])("does not concern a tool call of the model (%i %s)", (status, message, kind) => {
    expect(kindOf(status, message)).toBe(kind);
  });

  it("means an overload, even with status 400", () => {
    expect(kindOf(400, "model `foo` is currently overloaded, please retry")).toBe("overloaded");
  });

  it.each([
    "Invalid parameter: temperature must be between 0 and 2",
    "The thinking budget 100 is invalid. Please choose a value between 512 and 24576.",
    "Thinking budget exceeds the maximum of 24576",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    "unsupported value: reasoning_effort does not support minimal with this model",
    "The parameter top_p is not supported with this model.",
    "Conversation roles must alternate user/assistant",
    "Request contains an invalid argument.",
    "1 validation error for ChatCompletionRequest: messages.2.content Input should be a valid string",
    "This model does not support temperature",
  ])("concerns only one request (%s)", (message) => {
    expect(kindOf(400, message)).toBe("bad_request");
  });

  it("concerns one prompt if a firewall blocks it, and shows only the title of its page", () => {
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
    [500, "False", false],
    [409, "true", true],
    [400, "true", true],
    [401, "true", false],
  ])("with status %i and x-should-retry %s leads to a retry (%s)", (status, says, retryable) => {
    expect(httpError(status, "x", {}, new Headers({ "x-should-retry": says }))).toMatchObject({ retryable });
  });

  it.each<[object, string]>([
    [{ code: 1, msg: "parameter error" }, "parameter error"],
    [{ error: { msg: "parameter wrong" } }, "parameter wrong"],
    [{ error: "invalid_token", error_description: "The token expired" }, "The token expired (invalid_token)"],
    [{ Message: "User is not authorized" }, "User is not authorized"],
    [{ type: "about:blank", title: "Bad Request", detail: "the field x is wrong" }, "the field x is wrong"],
    [{ base_resp: { status_code: 1008, status_msg: "insufficient balance" } }, "insufficient balance"],
  ])("shows the message in %j", (body, words) => {
    expect(httpError(400, "", body)).toMatchObject({ message: `400 ${words}` });
  });

  it("comes from a proxy if the status is 407, and stops the run", () => {
    const error = httpError(407, "<html><title>Access Denied</title></html>", null);
    expect(error).toMatchObject({ kind: "network", retryable: false, unreachable: true });
    expect(String(error)).toContain("HTTP_PROXY");
  });
});
