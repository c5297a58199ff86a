import type { ModelErrorKind } from "./model.js";

/**
 * Maps a provider's errors to their consequences for the call, the task and the run. Servers disagree on statuses and
 * wording, so codes and structured details are checked first, then the message, and finally the plain status. An error
 * that concerns the account, the key, the budget or the model stops the run. A refusal is about a prompt or its
 * content.
 */

/**
 * `stops`: no task in the run can succeed, so the remaining tasks are left for `--resume`. `told`: the server could not
 * read the model's tool call, so the model is asked to call again.
 */
export type Consequence = "retried" | "fails" | "refused" | "told" | "stops";

interface FailureClass {
  readonly kind: ModelErrorKind;
  readonly consequence: Consequence;
  /** Lowercase codes, types, statuses and reasons in the error. A trailing `*` matches any suffix. */
  readonly codes: readonly string[];
  readonly statuses: readonly number[];
  /** Message patterns for servers that do not send an error code, and the statuses that the patterns apply to. */
  readonly words?: readonly { readonly statuses: readonly number[]; readonly pattern: RegExp }[];
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
  /** Whether the body is a web page, which is from a proxy or a firewall. */
  readonly isWebPage: boolean;
  /** Exceeded Google quotas (google.rpc.QuotaFailure). */
  readonly quotas: readonly { readonly id: string; readonly value: string }[];
}

/**
 * Error messages, as the thing that an error is about and what is wrong with it. Servers word the same fault in
 * hundreds of ways, so these patterns name the two parts, which are in one sentence in either order.
 */
const about = (thing: string, fault: string, gap = 60) =>
  `\\b(?:${thing})\\b.{0,${gap}}?\\b(?:${fault})|\\b(?:${fault})\\b.{0,${gap}}?\\b(?:${thing})\\b`;

/** A warning ("your account may be suspended") is not a fault. */
const NOT_A_WARNING = "(?<!\\b(?:may|might|could|can|will) (?:\\w+ ){0,3})";

const ACCOUNT = [
  `\\b(?:account|organi[sz]ation|workspace|team|tenant|subscription|user|(?:your|this|the) (?:\\w+ )?(?:access(?! token)|project|plan))\\b.{0,60}?${NOT_A_WARNING}\\b(?:flagged|restricted|suspended|disabled|deactivated|blocked|banned|terminated|locked|frozen|closed|expired|inactive|not (?:active|activated|verified)|delinquent|overdue|in arrears|past due)\\b`,
  about("(?:user )?location|country|region|territory", "not (?:supported|available|allowed|permitted)|unsupported"),
];

const NO_CREDIT = [
  about(
    "credits?|balance|budget|billing|funds|payment|spend(?:ing)?|(?:api |monthly |weekly |daily |specified )+usage limits?",
    "insufficient|exceed(?:s|ed)?|over|exhausted|depleted|too low|not enough|r[au]n out|out of|negative|required|reached|us(?:ed|ing) (?:up |all )|(?:doesn't|does not|don't) have|no (?:more |remaining )?(?=credits|balance|funds)|not (?:enabled|active|set up)|(?:need|have|must) to (?:enable|add|set up)|please (?:enable|add)",
  ),
  "exceeded your current quota, please check your plan",
];

/** A rate limit is also a quota, so a quota is about the account only in an error that is not a rate limit's. */
const NO_QUOTA = about(
  "quota|(?:key|monthly|weekly|plan|free tier|trial)(?: \\w+){0,2} limits?",
  "exceed(?:s|ed)?|exhausted|reached|insufficient",
);

const KEY = about(
  "api[ _-]?keys?|x-api-key|(?:access|auth|authentication|bearer|secret|proxy server)[ _-](?:token|key)|credentials?|authorization(?: header)?",
  "incorrect|invalid|not (?:valid|found|set|provided|recogni[sz]ed)|expired|missing|revoked|malformed|unknown|wrong|required|disabled|no (?=api)|(?:doesn't|does not) exist|denied|rejected",
  50,
);

const MODEL = [
  "\\bmodels?\\b.{0,80}?\\b(?:not (?:found|available|allowed|enabled|supported|deployed|loaded|accessible|a valid)|(?:doesn't|does not|do not|not) exist|decommissioned|deprecated|retired|discontinued|no longer|sunset|shut ?down|not a (?:valid|chat|supported))\\b",
  "\\b(?:unknown|invalid|unsupported|unrecogni[sz]ed|no such|not a valid|(?:doesn't|does not) exist|(?:cannot|could not|can't|unable to) find|no access to|not (?:have|been granted|allowed to|authorized to)(?: use)?(?: access)?(?: to)?)(?: (?:the|this|any))? models?\\b",
  // What every request of the program needs.
  "\\b(?:(?:doesn't|does not|do not|not) (?:currently )?support(?:ed|ing)?(?: for)?|support(?:s)?)(?: the)? (?:tools?(?! choice)|tool[ -]?(?:use|call(?:s|ing)?)|function[ -]?call(?:s|ing)?|functions|chat(?: completions?)?)\\b(?!.{0,20}choice)",
  "\\b(?:tools?|tool[ -]?(?:use|call(?:s|ing)?)|function[ -]?call(?:s|ing)?|functions)[`'\"]? (?:is|are) not (?:supported|enabled|available)|requires --enable-auto-tool-choice",
];

const PROMPT =
  "prompt|content|request|input|message|response|reply|output|completion|image|text|query|question|conversation|data";

const DECLINED = [
  about(
    PROMPT,
    "flagged|violat\\w+(?=.{0,60}\\b(?:polic|guideline|terms|standards|rules))|inappropriate|(?<!case-)sensitive|harmful|unsafe|prohibited|jailbreak|high risk|exists risk|moderation|responsible ai|safety (?:system|filter|check|policy|guidelines)|content (?:filter(?:ing|s)?|management|policy)|blocked by .{0,30}(?:guardrail|filter|safety|moderation)",
    80,
  ),
  about(
    "guardrails?|content filter(?:ing|s)?|moderation|safety (?:system|filter|policy)|content (?:safety|management) policy",
    "blocked|intervened|triggered|rejected|refused|declined|denied|violated",
  ),
];

/** The size of a prompt that is above a limit. The limit of a reply (`max_tokens`) is a parameter. */
const TOO_LONG = [
  about(
    "prompt|input|context|tokens?|sequence|conversation|messages?|query|session|request|body",
    "exceed(?:s|ed|ing)?|too (?:long|large|big)|too many(?= (?:\\w+ )?tokens)|(?:longer|greater|larger|more|higher|bigger) than|overflow(?:s|ed)?|over the|limit reached|context the overflows",
    100,
  ),
  "\\b(?:maximum|max)\\.? (?:(?:supported|allowed|total|of|current|model|the) )*(?:context|prompt|model|input|sequence|question|tokens?|message)(?:.s)? ?(?:length|size|window|count)|context (?:length of only|shift is disabled)",
  "(?:maximum|max) length of|at most \\d+ tokens|range of input length|inputs?`? (?:tokens|must have less than)|input token count|must be at least 1, got -",
  "reduce (?:the length|the size|your prompt|your input)|context_length_exceeded",
];

const anyOf = (...patterns: readonly string[]) => new RegExp(patterns.join("|"), "i");

/** Failure classes in the order they are checked. */
export const FAILURE_CLASSES: readonly FailureClass[] = [
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
    words: [{ statuses: [429], pattern: /RESOURCE_EXHAUSTED|per ?min/i }],
  },
  {
    kind: "unavailable",
    consequence: "stops",
    codes: [
      "access_terminated",
      "account_*",
      "arrearage",
      "billing_*",
      "budget_*",
      "exceeded_current_quota_error",
      "insufficient_*",
      "unsupported_country*",
      "user_blocked",
      "1008",
      "1113",
      "1304",
      "1308",
      "1309",
      "1310",
    ],
    statuses: [402],
    words: [
      { statuses: [400, 402, 403, 412, 422, 429], pattern: anyOf(...ACCOUNT, ...NO_CREDIT) },
      { statuses: [400, 402, 403, 412], pattern: anyOf(NO_QUOTA) },
    ],
  },
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
    words: [{ statuses: [400, 403, 422, 451], pattern: anyOf(...DECLINED) }],
  },
  {
    kind: "broken_call",
    consequence: "told",
    codes: ["tool_use_failed"],
    statuses: [],
  },
  {
    kind: "auth",
    consequence: "stops",
    codes: [
      "api_key_*",
      "authentication_error",
      "invalid_api_key",
      "invalid_authentication*",
      "permission_error",
      "unauthenticated",
      "unauthorized",
      "1004",
      "2049",
    ],
    statuses: [401, 403],
    words: [{ statuses: [400, 422], pattern: anyOf(KEY, "\\binvalid token\\b") }],
  },
  {
    kind: "context_overflow",
    consequence: "fails",
    codes: ["context_*", "exceed_context_size_error", "request_too_large", "tokens_limit_reached", "1261"],
    statuses: [413],
    words: [{ statuses: [400, 413, 422, 500], pattern: anyOf(...TOO_LONG) }],
  },
  {
    kind: "overloaded",
    consequence: "retried",
    codes: [
      "capacity_exceeded",
      "engine_overloaded_error",
      "model_overloaded",
      "overloaded",
      "overloaded_error",
      "server_is_overloaded",
      "slow_down",
    ],
    statuses: [498, 503, 529],
  },
  {
    kind: "not_found",
    consequence: "stops",
    codes: [
      "invalid_model*",
      "model_decommissioned",
      "model_deprecated",
      "model_not_*",
      "model_terms_required",
      "not_found_error",
      "unknown_model",
      "unsupported_model",
    ],
    statuses: [404],
    words: [{ statuses: [400, 422], pattern: anyOf(...MODEL) }],
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

export function classifyFailure(failure: ProviderFailure): FailureClass {
  const { status, message, codes, isDeclined, isWebPage, quotas } = failure;
  // Daily limits and zero quotas outlast every retry, even though Google requests a wait of only a few seconds.
  if (quotas.some(({ id, value }) => /per(day|month)/i.test(id) || value === "0")) return classOf("unavailable");
  if (isLargerThanLimit(message)) return classOf("context_overflow");
  // A firewall's page blocks one prompt. A provider explains in JSON why it rejects a key.
  if (isWebPage && status === 403) return BAD_REQUEST;
  const byWords = classByWords(status, message);
  // Some servers use the code of a refusal for an account that was refused too often.
  if (isDeclined && byWords?.kind !== "unavailable") return classOf("refused");
  const byCode = FAILURE_CLASSES.find((one) => codes.some((code) => one.codes.some((name) => matches(code, name))));
  if (byCode?.kind === "refused" && byWords?.kind === "unavailable") return byWords;
  return (
    byCode ??
    byWords ??
    FAILURE_CLASSES.find(({ statuses }) => statuses.includes(status)) ??
    (status >= 500 ? classOf("server") : status >= 400 ? BAD_REQUEST : NO_ERROR)
  );
}

/** Returns the class of the first sentence that has one: "Your request was flagged. Your account may be suspended." */
function classByWords(status: number, message: string): FailureClass | undefined {
  // A rate limit can be worded like an empty account, so its entire message counts.
  const sentences = status === 429 ? [] : message.split(/(?<=[.!?])\s+/);
  for (const sentence of [...sentences, message]) {
    const found = FAILURE_CLASSES.find(({ words = [] }) =>
      words.some(({ statuses, pattern }) => statuses.includes(status) && pattern.test(sentence)),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function matches(code: string, name: string): boolean {
  return name.endsWith("*") ? code.startsWith(name.slice(0, -1)) : code === name;
}

/** Returns whether the request alone exceeds the per-minute limit (OpenAI and Groq), so it can never succeed. */
function isLargerThanLimit(message: string): boolean {
  const [, limit, requested] = /request too large .*limit:? (\d+), requested:? (\d+)/is.exec(message) ?? [];
  return limit !== undefined && Number(requested) > Number(limit);
}
