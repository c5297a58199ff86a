import type { ModelErrorKind } from "./model.js";

/**
 * Maps a provider's errors to their consequences for the call, the task and the run. Servers disagree on statuses and
 * wording, so codes and structured details are checked first, then the message, and finally the plain status.
 */

/** `stops`: no task in the run can succeed, so the remaining tasks are left for `--resume`. */
export type Consequence = "retried" | "fails" | "refused" | "stops";

interface FailureClass {
  readonly kind: ModelErrorKind;
  readonly consequence: Consequence;
  /** Lowercase codes, types, statuses and reasons in the error. A trailing `*` matches any suffix. */
  readonly codes: readonly string[];
  readonly statuses: readonly number[];
  /** Message patterns for servers that do not send an error code, and the statuses that the patterns apply to. */
  readonly words?: { readonly statuses: readonly number[]; readonly pattern: RegExp };
}

/** The parts of a provider's error that identify the kind of failure. */
interface ProviderFailure {
  readonly status: number;
  /** Untruncated error message. */
  readonly message: string;
  /** Lowercase codes, types, statuses and reasons in the error. */
  readonly codes: readonly string[];
  /** Whether the error lists reasons for declining the prompt (OpenRouter). */
  readonly isDeclined: boolean;
  /** Exceeded Google quotas (google.rpc.QuotaFailure). */
  readonly quotas: readonly { readonly id: string; readonly value: string }[];
}

/**
 * Messages from OpenAI, Anthropic, Azure, Bedrock, Gemini, xAI, Groq, Mistral, Kimi, Qwen, GLM, MiniMax and local
 * servers.
 */
const TOO_LONG = [
  /prompt (is )?too long|input is too long for requested model|prompt exceeds max length/,
  /context_length_exceeded|context length exceeded|exceed_context_size|context window|context shift is disabled/,
  /context length of only \d+ tokens|context size has been exceeded|when context the overflows/,
  /exceeds? (the )?(model'?s )?(available |maximum )?(allowed )?(context|number of tokens|input length)/,
  /(maximum|max) (context|prompt|model) length|longer than the (maximum model|model's context) length/,
  /(greater|larger|longer) than the (model'?s )?context (length|size|window)|configured context size/,
  /exceeded model token limit|token limit exceeded|prompt token count of \d+ exceeds/,
  /input token count|too many (input )?tokens|reduce the length of the (messages|prompt|input)/,
  /range of input length should be|inputs?`? (tokens|must have less than)|max_(completion_)?tokens must be at least 1, got -/,
];

const NO_CREDIT =
  /credit balance is too low|reached your specified (api )?usage limits?|insufficient (account )?(balance|credits?|funds)|balance is (insufficient|not enough)|out of credits?|used all available credits|(doesn't|does not) have any credits|monthly (spending|usage) limit|exceeded your current quota, please check your plan/;

const DECLINED =
  /blocked by (the )?content filtering|content exists risk|considered high risk|violates? (our |the )?(usage|content|acceptable use) (guidelines|policy|policies)|flagged (for|by|as)|guardrails? (has |have )?(blocked|intervened)|content management policy|blocked by (a |an |the |our )?(guardrail|content filter|safety|moderation)|violated (\w+ )*(guardrail|moderation|safety) policy|responsible ai practices|contain inappropriate content/;

const anyOf = (patterns: readonly RegExp[]) => new RegExp(patterns.map(({ source }) => source).join("|"), "i");

/** Failure classes in the order they are checked. */
export const FAILURE_CLASSES: readonly FailureClass[] = [
  {
    kind: "refused",
    consequence: "refused",
    codes: [
      "content_filter",
      "content_policy_violation",
      "content_moderation*",
      "cyber_policy*",
      "data_inspection_failed",
      "datainspectionfailed",
      "inputtextsensitivecontentdetected*",
      "invalid_prompt",
      "moderation_blocked",
      "outputtextsensitivecontentdetected*",
      "responsibleaipolicyviolation",
      "safety_check*",
      "sensitivecontentdetected*",
      "1026",
      "1027",
      "1301",
    ],
    statuses: [],
    words: { statuses: [400, 403, 422, 451], pattern: new RegExp(DECLINED, "i") },
  },
  {
    kind: "context_overflow",
    consequence: "fails",
    codes: ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "1261"],
    statuses: [],
    words: { statuses: [400, 413, 422, 500], pattern: anyOf(TOO_LONG) },
  },
  {
    kind: "rate_limit",
    consequence: "retried",
    codes: [
      "rate_limit_error",
      "rate_limit_exceeded",
      "rate_limit_reached_error",
      "resource_exhausted",
      "throttling*",
      "too_many_requests",
      "1002",
      "1302",
      "1303",
    ],
    statuses: [429],
    words: { statuses: [429], pattern: /RESOURCE_EXHAUSTED|per ?minute/i },
  },
  {
    kind: "unavailable",
    consequence: "stops",
    codes: [
      "access_terminated",
      "arrearage",
      "billing_error",
      "billing_hard_limit_reached",
      "billing_not_active",
      "exceeded_current_quota_error",
      "insufficient_balance",
      "insufficient_quota",
      "1008",
      "1113",
      "1304",
      "1308",
      "1309",
      "1310",
    ],
    statuses: [402],
    words: { statuses: [400, 403, 412, 429], pattern: new RegExp(NO_CREDIT, "i") },
  },
  {
    kind: "auth",
    consequence: "stops",
    codes: ["account_deactivated", "api_key_invalid", "authentication_error", "invalid_api_key", "1004", "2049"],
    statuses: [401, 403],
    words: { statuses: [400], pattern: /api[ _]key not valid|api_key_invalid|api key expired/i },
  },
  {
    kind: "not_found",
    consequence: "stops",
    codes: ["model_not_found", "not_found_error"],
    statuses: [404],
    words: { statuses: [400], pattern: /is not a valid model id/i },
  },
  {
    kind: "overloaded",
    consequence: "retried",
    codes: [
      "capacity_exceeded",
      "engine_overloaded_error",
      "overloaded",
      "overloaded_error",
      "server_is_overloaded",
      "slow_down",
    ],
    statuses: [498, 503, 529],
  },
  { kind: "timeout", consequence: "retried", codes: ["deadline_exceeded", "timeout_error"], statuses: [408, 499] },
  { kind: "server", consequence: "retried", codes: [], statuses: [409, 424, 425] },
];

const BAD_REQUEST: FailureClass = { kind: "bad_request", consequence: "fails", codes: [], statuses: [] };
const NO_ERROR: FailureClass = { kind: "protocol", consequence: "fails", codes: [], statuses: [] };

export const classOf = (kind: ModelErrorKind) => FAILURE_CLASSES.find((one) => one.kind === kind) ?? BAD_REQUEST;

/** Returns whether every other call in the run would fail the same way. */
export function stopsRun(kind: ModelErrorKind): boolean {
  return classOf(kind).consequence === "stops";
}

export function classifyFailure({ status, message, codes, isDeclined, quotas }: ProviderFailure): FailureClass {
  if (isDeclined) return classOf("refused");
  // Daily limits and zero quotas outlast every retry, even though Google requests a wait of only a few seconds.
  if (quotas.some(({ id, value }) => /per(day|month)/i.test(id) || value === "0")) return classOf("unavailable");
  if (isLargerThanLimit(message)) return classOf("context_overflow");
  return (
    FAILURE_CLASSES.find((one) => codes.some((code) => one.codes.some((name) => matches(code, name)))) ??
    FAILURE_CLASSES.find(({ words }) => words?.statuses.includes(status) && words.pattern.test(message)) ??
    FAILURE_CLASSES.find(({ statuses }) => statuses.includes(status)) ??
    (status >= 500 ? classOf("server") : status >= 400 ? BAD_REQUEST : NO_ERROR)
  );
}

function matches(code: string, name: string): boolean {
  return name.endsWith("*") ? code.startsWith(name.slice(0, -1)) : code === name;
}

/** Returns whether the request alone exceeds the per-minute limit (OpenAI and Groq), so it can never succeed. */
function isLargerThanLimit(message: string): boolean {
  const [, limit, requested] = /request too large .*limit:? (\d+), requested:? (\d+)/is.exec(message) ?? [];
  return limit !== undefined && Number(requested) > Number(limit);
}
