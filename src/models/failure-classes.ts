// Maps a provider's errors to their consequences for the call, the task and the run. Servers disagree on statuses and
// wording, so codes and structured details are checked first, then the message, and finally the plain status. An error
// that concerns the account, the key, the budget or the model stops the run. A refusal is about a prompt or its
// content.
import { wordList } from "../platform/word-list.js";
import type { ModelErrorKind } from "./model.js";

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
  /** IDs and values of exceeded Google quotas (google.rpc.QuotaFailure). */
  readonly quotas: readonly string[];
}

/**
 * Error messages, as the thing that an error is about and what is wrong with it. Servers word the same fault in
 * hundreds of ways, so these patterns name the two parts, which are in one sentence in either order.
 */
const about = (thing: string, fault: string, gap = 60) =>
  `\\b(?:${thing})\\b.{0,${gap}}?\\b(?:${fault})|\\b(?:${fault})\\b.{0,${gap}}?\\b(?:${thing})\\b`;

const anyOf = (...patterns: readonly string[]) => new RegExp(patterns.join("|"), "i");

/** A warning ("your account may be suspended") is not a fault. */
const NOT_A_WARNING = "(?<!\\b(?:may|might|could|can|will) (?:\\w+ ){0,3})";

const ACCOUNT = [
  `\\b(?:account|organi[sz]ation|workspace|team|tenant|subscription|user|(?:your|this|the) (?:\\w+ )?(?:access(?! token)|project|plan|trial))\\b.{0,60}?${NOT_A_WARNING}\\b(?:flagged|restricted|suspended|disabled|deactivated|blocked|banned|terminated|revoked|locked|frozen|closed|on hold|expired|ended|inactive|(?:not|must be) (?:in an )?(?:active|activated|verified)|(?:not )?in good standing|delinquent|overdue|in arrears|past due)\\b`,
  "\\b(?:not have access to|must be a member of|not (?:a member of|belong to)) (?:the|an|this|your|any) (?:organi[sz]ation|project|workspace|team|account)\\b",
  "\\binactive subscription\\b|\\bsubscription (?:is )?required\\b|\\brequires? an? (?:\\w+ )?subscription\\b",
  "\\bverify your (?:e-?mail|phone|account|identity|organi[sz]ation|age)\\b",
  about(
    "(?:user )?location|country|region|territory|jurisdiction|ip(?: address)?",
    "not (?:supported|available|allowed|permitted)|unsupported|blocked",
  ),
];

const NO_CREDIT = [
  about(
    "credits?|balance|wallet|(?<!(?:thinking|reasoning) )budget|billing|funds|(?:pre)?payment|spend(?:ing)?|usage (?:limits?|caps?)|extra usage|allowance",
    "insufficient|exceed(?:s|ed)?|over|exhausted|depleted|empty|declined|must be provided|too low|not enough|r[au]n out|out of|negative|zero|required|reached|us(?:ed|ing) (?:up|all)\\b|(?:doesn't|does not|don't) have|no (?:more |remaining )?(?=credits|balance|budget|funds)|not (?:enabled|active|set up)|(?:need|have|must) to (?:enable|add|set up)|please (?:enable|add)",
  ),
  "\\btop(?:ping)? up (?:your )?(?:account|balance|credits?|wallet)|\\brecharge\\b|余额不足|额度不足|额度已用尽|欠费",
  "exceeded your current quota, please check your plan|exceeded\\w*budget|\\bmax budget\\b",
];

/** What no rate limit says. Google has one code for an empty account and a rate limit. */
const NO_MONEY =
  /\b(?:credits?|balance|funds) (?:is|are|(?:has|have) been) (?:depleted|exhausted|used up)|\bexceeded (?:its|your|the) (?:\w+ )?spend/i;

/** A rate limit is also a quota, so a quota is about the account only in an error that is not a rate limit's. */
const NO_QUOTA = [
  about(
    "quota|free tier|(?:key|monthly|weekly|plan|trial)(?: \\w+){0,2} limits?",
    "exceed(?:s|ed)?|exhausted|reached|insufficient|not enough",
  ),
  "\\bupgrade (?:your|to an?) (?:\\w+ )?(?:plan|account|subscription)\\b|\\bplan (?:does not|doesn't) include\\b",
];

const KEY = about(
  "api[ _-]?keys?|x-api-key|virtual key|(?:access|api|auth|authentication|bearer|incoming|secret|security|proxy server)[ _-](?:token|key)|(?:your|the|this) key|jwt|credentials?|authentication|authorization(?: header)?",
  "incorrect|invalid|bad|provide|not (?:valid|found|set|provided|recogni[sz]ed|authorized)|expired|missing|revoked|malformed|unknown|wrong|required|disabled|deactivated|decode|no (?=api|auth|cookie)|only (?:authorized|valid)|(?:doesn't|does not) (?:exist|have permission)|denied|rejected",
  50,
);

const MODEL = [
  "\\b(?:models?|deployment)\\b.{0,80}?\\b(?:(?:not|isn't|aren't) (?:found|available|allowed|enabled|supported|deployed|loaded|accessible|a valid)|(?:doesn't|does not|do not|not) exist|(?:cannot|could not) be found|unavailable (?:in|on|for|with)|(?:id|identifier|name) is invalid|decommissioned|deprecated|retired|discontinued|removed|no longer|sunset|shut ?down|end of life|not a (?:valid|chat|supported)|only (?:supported|available) (?:in|on|through|via) (?:the )?\\/?(?:v1|responses|chat))\\b",
  "\\b(?:unknown|invalid|unsupported|not supported|unavailable|unrecogni[sz]ed|no such|not a valid|(?:doesn't|does not) (?:exist|support)|(?:cannot|could not|can't|unable to) (?:find|access)|no access to|(?:not|don't) (?:have|been granted|allowed to|authorized to)(?: use)?(?: access)?(?: to)?)(?: (?:the|this|any))? models?\\b",
  "\\bno models? (?:loaded|with|named|found)|no healthy deployments|llm provider not provided|does not work with the specified model",
];

/** Every request of the program has tools. */
const NO_TOOLS = [
  "\\b(?:(?:doesn't|does not|do not|not) (?:currently )?support(?:ed|ing)?(?: for)?|support(?:s)?)(?: the)? (?:tools?(?! choice)|tool[ -]?(?:use|call(?:s|ing)?)|function[ -]?call(?:s|ing)?|functions|chat(?: completions?)?)\\b(?!.{0,20}choice)",
  "\\b(?:tools?|tool[ -]?(?:use|call(?:s|ing)?)|function[ -]?call(?:s|ing)?|functions)[`'\"]? (?:(?:is|are) (?:not (?:supported|enabled|available)|unsupported)|with function calling is unsupported)|(?:not supported|unsupported)\\b.{0,40}\\b(?:tool|function) call|requires? --(?:enable-auto-tool-choice|jinja)",
];

/** The server could not read the model's output. The last line is about llama.cpp, Ollama and vLLM (gpt-oss). */
const BROKEN_CALL = anyOf(
  "\\btool call validation failed",
  "\\b(?:failed to|error|unable to|could not|cannot) (?:call|generat(?:e|ing)|pars(?:e|ing))(?: the| a| an)? (?:tool|function|fc)(?![a-z]| (?:schema|definition|declaration|parameter)s?)",
  "\\b(?:tool|function)[_ ]calls?\\b.{0,30}\\bcould not be parsed|\\bgenerated an? (?:invalid|malformed) (?:tool|function)",
  "\\bfailed to parse input at pos|\\bXML syntax error\\b.{0,40}\\belement <|\\btokens? (?:remaining in message header|\\d+ while expecting start token)",
);

/** The tools of a request, which are the same in every call of an agent. Texts about tokens are about a prompt. */
const TOOLS = [
  `^(?!.*\\btokens?\\b).*(?:${about(
    "tools|functions|(?:tool|function)[_ ](?:declarations|definitions)",
    "too (?:many|long)|at most|(?:maximum|max|limit)(?: \\w+)? (?:of|is|length)|more than|exceed(?:s|ed)?|fewer than|must be unique|duplicate",
    40,
  )})`,
  "\\btools?(?:\\.|\\[)\\d+|\\b(?:schema|parameters) (?:for|of)(?: the)? (?:function|tool)\\b|\\bduplicate (?:tool|function)|\\b(?:tool|function) names? must",
];

const PROMPT =
  "prompt|content|request|input|message|response|reply|output|completion|image|text|query|question|conversation|data";

const DECLINED = [
  about(
    PROMPT,
    "flagged|violat\\w+(?=.{0,60}\\b(?:polic|guideline|terms|standards|rules))|inappropriate|(?<!case-)sensitive|harmful|unsafe|prohibited|jailbreak|high risk|exists risk|moderation|responsible ai|safety (?:system|filter|check|polic(?:y|ies)|guidelines|reasons)|sexual|hateful|content (?:filter(?:ing|s)?|management|policy)|injection detected|blocked by .{0,30}(?:guardrail|filter|safety|moderation)",
    80,
  ),
  "\\b(?:prompt|content|input|output|response) (?:was |is |has been )?blocked\\b|\\b(?:pii|personal data|secrets?)\\b.{0,20}\\bdetected\\b",
  about(
    "guardrails?|content filter(?:ing|s)?|moderation|safety (?:system|filter|policy)|content (?:safety|management) policy",
    "blocked|intervened|triggered|rejected|refused|declined|denied|violated|checks? .{0,30}failed",
  ),
];

/** The size of a prompt that is above a limit. The limit of a reply (`max_tokens`) is a parameter. */
const TOO_LONG = [
  about(
    "prompt|input|context|(?<!completion |output )tokens?|sequence|conversation|messages?(?!\\[\\d+\\]\\.tool)|query|session|request|body|window",
    "exceed(?:s|ed|ing)?|too (?:long|large|big)|too many(?= (?:\\w+ )?tokens)|(?:longer|greater|larger|more|higher|bigger) than|(?:does not|doesn't) fit|overflow(?:s|ed)?|(?:over|above) the|limit reached|can only hold|not enough room|context the overflows",
    100,
  ),
  "\\b(?:maximum|max)\\.? (?:(?:supported|allowed|total|of|current|model|the) )*(?:context|prompt|model|input|sequence|question|tokens?|message)(?:.s)? ?(?:length|size|window|count)|max_(?:seq|model|prompt)_len|context (?:length of only|shift is disabled)",
  "(?:maximum|max) length of (?:the |current )*(?:question|prompt|input|message)|\\bcontext (?:reached|full)|at most \\d+ tokens|range of input length|inputs?`? (?:tokens|must have less than)|input token count|must be at least 1, got -",
  "reduce (?:the length|the size|your prompt|your input)|context_length_exceeded|max length exceeded|\\bcurrent length\\b.{0,40}\\blimit\\b",
];

/** Failure classes in the order they are checked. */
export const FAILURE_CLASSES: readonly FailureClass[] = [
  {
    kind: "rate_limit",
    consequence: "retried",
    codes: wordList(`
      rate_limit_error rate_limit_exceeded rate_limit_reached_error resource_exhausted throttling*
      too_many_requests 1002 1302 1303
    `),
    statuses: [429],
    words: [{ statuses: [429], pattern: /RESOURCE EXHAUSTED|per ?min|rate limit (?:exceeded|reached)/i }],
  },
  {
    kind: "unavailable",
    consequence: "stops",
    codes: wordList(`
      access_terminated account_* allocationquota* arrearage billing_* budget_* exceeded_current_quota_error insufficient_*
      unsupported_country* user_blocked 1008 1113 1304 1308 1309 1310
    `),
    statuses: [402],
    words: [
      { statuses: [400, 402, 403, 412, 422, 429], pattern: anyOf(...ACCOUNT, ...NO_CREDIT) },
      { statuses: [400, 402, 403, 412], pattern: anyOf(...NO_QUOTA) },
      // Ollama, for a model that the machine cannot load.
      { statuses: [500], pattern: /\bmodel requires more (?:\w+ )?memory\b/i },
    ],
  },
  {
    kind: "refused",
    consequence: "refused",
    codes: wordList(`
      content_filter content_policy_violation content_moderation* cyber_policy* data_inspection_failed
      datainspectionfailed guardrail_* inputtextsensitivecontentdetected* invalid_prompt moderation_blocked
      outputtextsensitivecontentdetected* responsibleaipolicyviolation safety_check* sensitivecontentdetected*
      1026 1027 1301
    `),
    statuses: [451],
    words: [{ statuses: [400, 403, 422, 424, 446, 451], pattern: anyOf(...DECLINED) }],
  },
  {
    kind: "broken_call",
    consequence: "told",
    codes: ["tool_use_failed", "output_parse_failed"],
    statuses: [],
    words: [{ statuses: [400, 422, 500], pattern: BROKEN_CALL }],
  },
  {
    kind: "auth",
    consequence: "stops",
    codes: wordList(`
      api_key_* authentication_error invalid_api_key invalid_authentication* permission_error unauthenticated
      unauthorized 1004 2049
    `),
    statuses: [401, 403],
    words: [
      {
        statuses: [400, 422],
        pattern: anyOf(
          KEY,
          "\\b(?:(?:does not|doesn't|do not|don't) have (?:the )?|insufficient )(?:\\w+ )?permissions?\\b",
          "\\binvalid token\\b|\\b(?:token|key) (?:is |has )?(?:been )?(?:expired|revoked)\\b|\\bnot authenticated\\b",
        ),
      },
    ],
  },
  {
    kind: "bad_tools",
    consequence: "stops",
    codes: ["invalid_function_*"],
    statuses: [],
    words: [{ statuses: [400, 422], pattern: anyOf(...TOOLS) }],
  },
  {
    kind: "context_overflow",
    consequence: "fails",
    codes: wordList(
      "context_* exceed_context_size_error request_too_large model_max_prompt_tokens* tokens_limit_reached 1261",
    ),
    statuses: [413],
    words: [{ statuses: [400, 413, 422, 500], pattern: anyOf(...TOO_LONG) }],
  },
  {
    kind: "overloaded",
    consequence: "retried",
    codes: wordList(`
      capacity_exceeded engine_overloaded_error model_overloaded overloaded overloaded_error
      server_is_overloaded slow_down
    `),
    statuses: [498, 503, 529],
    words: [{ statuses: [400, 403], pattern: /\boverloaded\b/i }],
  },
  {
    kind: "not_found",
    consequence: "stops",
    codes: wordList(`
      invalid_model* model_decommissioned model_deprecated model_not_* model_terms_required not_found_error
      modelnotopen operationnotsupported unavailable_model unknown_model unsupported_model 1211
    `),
    statuses: [404],
    words: [
      { statuses: [400, 422], pattern: anyOf(...MODEL) },
      { statuses: [400, 422, 500, 501], pattern: anyOf(...NO_TOOLS) },
    ],
  },
  { kind: "timeout", consequence: "retried", codes: wordList("deadline_exceeded timeout_error"), statuses: [408, 499] },
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
  if (quotas.some((quota) => /per(day|month)/i.test(quota) || quota === "0")) return classOf("unavailable");
  if (isLargerThanLimit(message)) return classOf("context_overflow");
  // A firewall's page blocks one prompt. A provider explains in JSON why it rejects a key.
  if (isWebPage && status === 403) return BAD_REQUEST;
  const byWords = classByWords(status, message);
  // Some servers use the code of a refusal for an account that was refused too often.
  if (isDeclined && byWords?.kind !== "unavailable") return classOf("refused");
  const byCode = FAILURE_CLASSES.find((one) => codes.some((code) => one.codes.some((name) => matches(code, name))));
  if (byCode?.kind === "refused" && byWords?.kind === "unavailable") return byWords;
  if (byCode?.kind === "rate_limit" && NO_MONEY.test(message)) return classOf("unavailable");
  return (
    byCode ??
    byWords ??
    FAILURE_CLASSES.find(({ statuses }) => statuses.includes(status)) ??
    (status >= 500 ? classOf("server") : status >= 400 ? BAD_REQUEST : NO_ERROR)
  );
}

/** Returns the class of the first sentence that has one: "Your request was flagged. Your account may be suspended." */
function classByWords(status: number, message: string): FailureClass | undefined {
  // Some messages are only a code: PROHIBITED_CONTENT.
  const words = message.replace(/(?<=[A-Z])_(?=[A-Z])/g, " ").replaceAll("’", "'");
  // A rate limit can be worded like an empty account, so its entire message counts.
  const sentences = status === 429 ? [] : words.split(/(?<=[.!?])\s+/);
  for (const sentence of [...sentences, words]) {
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
