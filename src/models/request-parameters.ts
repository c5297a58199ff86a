// Which parameters each model accepts, and what is sent instead of the others.
import { type Completion, ModelError, type ModelRequest, type SentParameters } from "./model.js";
import { isReasoningModel, type ModelName } from "./model-names.js";
import {
  ALL_LEVELS,
  acceptedEffort,
  anthropicEffort,
  type EffortRules,
  googleEffort,
  roomFor,
  rulesAfterRefusal,
} from "./reasoning-effort.js";
import { Omissions, type RequestBody } from "./wire/omissions.js";

/** The request parameters accepted by a model. Text values explain why a parameter is not accepted. */
interface ParameterRules {
  readonly noTemperature: string | null;
  readonly noForcedTools: string | null;
  /** Whether the model reasons before it answers. Its provider counts the reasoning as output. */
  readonly reasons: boolean;
  /** Minimum token limit accepted by the API. */
  readonly minTokens: number;
  readonly effort: EffortRules;
  /** Why temperature and forced tool calls are unsupported while the model reasons with an effort. */
  readonly onlyWithoutEffort?: string;
  /** Maximum token limit accepted by the server, learned from its error. */
  readonly mostTokens?: { readonly tokens: number; readonly reason: string };
  /** The field for the limit if the server refused the usual one, learned from its error. */
  readonly limitField?: { readonly name: LimitField; readonly reason: string };
}

type LimitField = "max_tokens" | "max_completion_tokens";

type Asked = Pick<ModelRequest, "maxTokens" | "reasoningTokens" | "reasoningEffort" | "temperature" | "toolChoice"> & {
  readonly hasTools: boolean;
};

type Adjusted = NonNullable<SentParameters["adjusted"]>[number];

type Refusable = Adjusted["parameter"];

/**
 * Reasoning tokens added to the agent's `maxTokens`. The sum is at most MOST_TOKENS, because a larger limit might
 * exceed the model's maximum output.
 */
const REASONING_TOKENS = 16_384;
const MOST_TOKENS = 32_768;

/**
 * Claude up to 4.6. All later models reject a temperature with status 400 (platform.claude.com, migration 2026-10-21).
 */
const CLAUDE_WITH_TEMPERATURE = /^claude-(3-|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$)/;

/**
 * Claude from the fifth generation on, which thinks by default and rejects forced tool calls with status 400 while
 * thinking.
 */
const CLAUDE_THINKING = /^claude-(fable|mythos|[a-z]+-([5-9]|\d\d))/;

const GEMINI_THINKING = /^gemini-(2\.5-(pro|flash(?!-lite))|[3-9]|\d\d|(pro|flash)-latest)/;

/** Names of open models at compatible servers that always reason. */
const OPEN_REASONING = /^(gpt-oss|deepseek-(r\d|reasoner)|qwq|magistral|grok-(3-mini|[4-9]))|-(thinking|reasoning)\b/;

export function anthropicRules(name: string): ParameterRules {
  const bare = claudeName(name);
  const takesTemperature = !bare.startsWith("claude-") || CLAUDE_WITH_TEMPERATURE.test(bare);
  const isThinking = CLAUDE_THINKING.test(bare);
  return {
    noTemperature: takesTemperature ? null : `${name} does not support a temperature`,
    noForcedTools: isThinking
      ? `${name} thinks by default and does not support required tool calls while thinking`
      : null,
    reasons: isThinking,
    minTokens: 1,
    effort: anthropicEffort(bare),
    // https://platform.claude.com/docs/en/build-with-claude/extended-thinking
    onlyWithoutEffort: `${name} does not support it while thinking`,
  };
}

export function googleRules(name: string): ParameterRules {
  const bare = bareName(name);
  return {
    noTemperature: null,
    noForcedTools: null,
    reasons: GEMINI_THINKING.test(bare),
    minTokens: 1,
    effort: googleEffort(bare),
  };
}

export function openaiRules(name: string, wireApi: "chat" | "responses"): ParameterRules {
  const isOpenaiReasoning = isReasoningModel(name);
  const bare = bareName(name);
  return {
    noTemperature: isOpenaiReasoning ? `${name} is a reasoning model and does not support a temperature` : null,
    noForcedTools: null,
    reasons:
      isOpenaiReasoning ||
      OPEN_REASONING.test(bare) ||
      GEMINI_THINKING.test(bare) ||
      CLAUDE_THINKING.test(claudeName(name)),
    minTokens: wireApi === "responses" ? 16 : 1,
    effort: ALL_LEVELS,
  };
}

/** Returns null for providers that send no requests. */
export function rulesFor({ provider, name }: ModelName, wireApi: "chat" | "responses"): ParameterRules | null {
  if (provider === "anthropic") return anthropicRules(name);
  if (provider === "google") return googleRules(name);
  return provider === "openai" ? openaiRules(name, wireApi) : null;
}

/** Returns the parameters to send for a request, with the reason for each difference from it. */
export function sentParameters(rules: ParameterRules, requested: Asked): SentParameters {
  const { temperature = null, reasoningEffort } = requested;
  const toolChoice = requested.hasTools ? requested.toolChoice : null;
  const adjusted: Adjusted[] = [];
  const adjust = (parameter: Refusable, asked: Adjusted["asked"], sent: Adjusted["sent"], reason: string) =>
    adjusted.push({ parameter, asked, sent, reason });
  const [maxTokens, whyTokens] = sentTokens(rules, requested);
  if (maxTokens !== requested.maxTokens) adjust("maxTokens", requested.maxTokens, maxTokens, whyTokens);
  if (rules.limitField !== undefined) adjust("maxTokens", maxTokens, maxTokens, rules.limitField.reason);
  const effort = sentEffort(rules, requested, maxTokens);
  // A budget is how the provider expresses an effort.
  if (reasoningEffort !== undefined && effort !== reasoningEffort && typeof effort !== "number") {
    adjust("reasoningEffort", reasoningEffort, effort, rules.effort.reason);
  }
  const isThinking = effort !== null && effort !== "none" && effort !== 0;
  const whileThinking = isThinking ? (rules.onlyWithoutEffort ?? null) : null;
  const noTemperature = temperature === null ? null : (rules.noTemperature ?? whileThinking);
  if (noTemperature !== null) adjust("temperature", temperature ?? 0, null, noTemperature);
  const noForcedTools = toolChoice === "required" ? (rules.noForcedTools ?? whileThinking) : null;
  if (noForcedTools !== null) adjust("toolChoice", "required", "auto", noForcedTools);
  return {
    maxTokens,
    temperature: noTemperature === null ? temperature : null,
    toolChoice: noForcedTools === null ? toolChoice : "auto",
    ...(reasoningEffort === undefined ? {} : { reasoningEffort: effort }),
    ...(adjusted.length === 0 ? {} : { adjusted }),
  };
}

/** Returns the token limit to send, and why it differs from the requested one. */
function sentTokens(rules: ParameterRules, requested: Asked): [tokens: number, reason: string] {
  const room = reasoningRoom(rules, requested);
  const wanted = Math.max(rules.minTokens, requested.maxTokens + room);
  const { mostTokens } = rules;
  if (mostTokens !== undefined && mostTokens.tokens < wanted) return [mostTokens.tokens, mostTokens.reason];
  if (room === 0) return [wanted, `the API requires at least ${rules.minTokens}`];
  return [wanted, "includes room for the model's reasoning, which counts as output"];
}

/** Returns a level or a budget in tokens, or null if no effort is requested or accepted. */
function sentEffort(rules: ParameterRules, requested: Asked, maxTokens: number): string | number | null {
  const { reasoningEffort: effort, reasoningTokens } = requested;
  if (effort === undefined) return null;
  // Thinking must leave room for an answer.
  const room = reasoningTokens ?? Math.max(1, maxTokens - requested.maxTokens);
  return acceptedEffort(rules.effort, effort, Math.min(room, maxTokens - 1), reasoningTokens);
}

export function sentOf(rules: ParameterRules, request: ModelRequest): SentParameters {
  return sentParameters(rules, { hasTools: request.tools.length > 0, ...request });
}

/**
 * The parameters accepted by one model at one server. They are based on the model name at first, and then learned from
 * each error with status 400 that mentions a parameter, because the name of a deployment or router model might be
 * uninformative.
 */
export class AdaptiveParameters {
  private changes = 0;
  private readonly notes: string[] = [];
  private readonly omissions = new Omissions();

  /** @param limitField the usual field for the limit, if the wire format has two */
  constructor(
    private rules: ParameterRules,
    private readonly limitField: LimitField | null = null,
  ) {}

  /** The name of the field for `maxTokens`. */
  get limitName(): LimitField {
    return this.rules.limitField?.name ?? this.limitField ?? "max_tokens";
  }

  /**
   * Makes a call with the parameters for a request, and repeats it if the server refuses one of them, or another part
   * of the body that can be left out. Each is refused at most once per model and run, because later calls omit it.
   */
  async complete<Body extends RequestBody>(
    request: ModelRequest,
    bodyOf: (sentParameters: SentParameters) => Body,
    call: (sentParameters: SentParameters, body: Body) => Promise<Completion>,
  ): Promise<Completion> {
    for (;;) {
      const [sentParameters, before] = [sentOf(this.rules, request), this.changes];
      const body = this.omissions.applyTo(bodyOf(sentParameters));
      try {
        const reply = await call(sentParameters, body);
        return this.notes.length === 0 ? reply : { ...reply, notes: [...(reply.notes ?? []), ...this.notes] };
      } catch (error) {
        const mayLearn = this.changes === before && this.changes < MAX_CHANGES;
        if (error instanceof ModelError && mayLearn) this.learn(error, sentParameters, request, body);
        if (this.changes === before) throw error;
      }
    }
  }

  private learn(error: ModelError, sentParameters: SentParameters, request: ModelRequest, body: RequestBody): void {
    const { status } = error;
    const message = error.message.replace(/^\d{3} /, "");
    const isRefusal = status === 400 || status === 422 || (ODD_STATUSES.includes(status) && UNSUPPORTED.test(message));
    if (!isRefusal) return;
    const before = this.changes;
    // A part of the history can have the name of a parameter.
    if (!IN_HISTORY.test(message)) this.learnParameter(message, sentParameters, request);
    const omitted = this.changes === before ? this.omissions.learn(message, body) : null;
    if (omitted !== null)
      this.change({}, omitted, `left out or changed: the server rejects it (${message.slice(0, 150)})`);
  }

  private learnParameter(message: string, sentParameters: SentParameters, request: ModelRequest): void {
    const isUnsupported = UNSUPPORTED.test(message);
    const explanation = `the server rejects it (${message.slice(0, 150)})`;
    const { maxTokens } = sentParameters;
    const fitting = fittingTokens(message, maxTokens);
    if (fitting !== null && maxTokens > request.maxTokens) {
      // The next turns have longer prompts.
      const tokens = Math.max(request.maxTokens, Math.floor(fitting / 2));
      this.change({ mostTokens: { tokens, reason: explanation } }, `max_tokens above ${tokens}`, explanation);
      return;
    }
    const most = maximumIn(message, maxTokens);
    switch (refusedParameter(message, sentParameters)) {
      case "maxTokens":
        if (most !== null)
          this.change({ mostTokens: { tokens: most, reason: explanation } }, `max_tokens above ${most}`, explanation);
        else if (this.limitField !== null && this.rules.limitField === undefined && isUnsupported) {
          const name = this.limitName === "max_tokens" ? "max_completion_tokens" : "max_tokens";
          const reason = `sent as ${name}: ${explanation}`;
          // Only reasoning models refuse the older name.
          const reasons = this.rules.reasons || name === "max_completion_tokens";
          this.change({ limitField: { name, reason }, reasons }, this.limitName, reason);
        }
        break;
      case "temperature":
        if (isUnsupported) this.change({ noTemperature: explanation }, "temperature", `not sent: ${explanation}`);
        break;
      case "toolChoice":
        this.change({ noForcedTools: explanation }, "tool_choice", `sent as auto: ${explanation}`);
        break;
      case "reasoningEffort": {
        const { reasoningEffort: effort = null } = sentParameters;
        const learned = effort === null ? null : rulesAfterRefusal(this.rules.effort, effort, message, isUnsupported);
        if (learned === null) break;
        const what = learned.forms.length === 0 ? "not sent" : "sent in another form";
        this.change({ effort: learned }, "reasoning effort", `${what}: ${learned.reason}`);
        break;
      }
    }
  }

  private change(rules: Partial<ParameterRules>, parameter: string, what: string): void {
    this.rules = { ...this.rules, ...rules };
    this.changes++;
    this.notes.push(`${parameter} is ${what}.`);
  }
}

/** Maximum number of changes, more than there are parameters. Stops retrying if a server contradicts itself. */
const MAX_CHANGES = 10;

/** Statuses that some servers use for an unsupported part, and others for a missing permission or a fault. */
const ODD_STATUSES: readonly (number | null)[] = [403, 500, 501];

/** Matches errors about a part of the conversation: `messages.2.reasoning_content`, `input[1]`. */
const IN_HISTORY = /\b(?:messages|input|contents)(?:\.|\[)\d/;

const PARAMETER_NAMES: Readonly<Record<Refusable, RegExp>> = {
  maxTokens: /max_(completion_|output_)?tokens|maxOutputTokens|maximum tokens/i,
  temperature: /temperature/i,
  toolChoice:
    /tool[_ ]?choice|tool_?config|function[_ ]?calling[_ ]?(config|mode)|forc(es?|ed|ing) (a )?(tool|function)/i,
  reasoningEffort: /effort|reasoning|thinking|output_config/i,
};

/** Matches errors about an unsupported parameter. Values out of range are for the user to correct. */
const UNSUPPORTED =
  /unsupported|not support|n't support|only .* (is|are) (supported|allowed)|may (only|not) be|cannot (both )?be (set|used|specified)|not (permitted|allow(ed)?|accepted|available)|does not accept|unknown|unrecognized|unexpected|extra (inputs?|fields?)|deprecated|incompatible/i;

/**
 * Returns the sent parameter that an error mentions first. The effort comes last, because "thinking" is often given as
 * the reason for refusing another parameter.
 */
function refusedParameter(message: string, sentParameters: SentParameters): Refusable | null {
  const { temperature, toolChoice, reasoningEffort = null } = sentParameters;
  const wasSent: Readonly<Record<Refusable, boolean>> = {
    maxTokens: true,
    temperature: temperature !== null,
    toolChoice: toolChoice === "required",
    reasoningEffort: reasoningEffort !== null,
  };
  const mentions = (Object.keys(PARAMETER_NAMES) as Refusable[])
    .map((parameter) => {
      const at = message.search(PARAMETER_NAMES[parameter]);
      return { parameter, at, order: parameter === "reasoningEffort" ? message.length + at : at };
    })
    .filter(({ parameter, at }) => at !== -1 && wasSent[parameter])
    .sort((a, b) => a.order - b.order);
  return mentions[0]?.parameter ?? null;
}

const MAXIMUM =
  /(?:>|<=|at most|up to|less than or equal to|maximum(?: allowed)?(?: value)?(?: of| is)?|model limit of|between \d+ and|\[\d+,|inclusive\) to) ?[`']?(\d+)(?: \((exclusive)\))?/gi;

/** Returns the largest limit that an error states as allowed, or null if it is not below the limit that was sent. */
function maximumIn(message: string, sentTokens: number): number | null {
  for (const [, digits, exclusive] of message.matchAll(MAXIMUM)) {
    const tokens = Number(digits) - (exclusive === undefined ? 0 : 1);
    if (tokens >= 1 && tokens < sentTokens) return tokens;
  }
  return null;
}

/**
 * Returns the tokens that a server's context leaves for the reply, or null if the error is not about that. Servers name
 * the context, the prompt and the limit that was sent, and possibly the sum of the last two, in any words and order.
 */
function fittingTokens(message: string, sentTokens: number): number | null {
  const numbers = [...new Set((message.match(/\d+/g) ?? []).map(Number))];
  if (!numbers.includes(sentTokens)) return null;
  const isSum = (number: number) => numbers.includes(number - sentTokens);
  const others = numbers.filter((number) => number > 9 && number !== sentTokens && !isSum(number));
  const [prompt = 0, context = 0] = others.sort((a, b) => a - b);
  return others.length === 2 && context > prompt && prompt + sentTokens > context ? context - prompt : null;
}

/** Returns the output tokens reserved for reasoning: the requested number, otherwise a default for the model. */
export function reasoningRoom(
  rules: ParameterRules | null,
  request: Pick<Asked, "maxTokens" | "reasoningTokens" | "reasoningEffort">,
): number {
  if (rules === null) return 0;
  const { maxTokens, reasoningTokens, reasoningEffort: effort = "none" } = request;
  // A budget has a lower bound, and must be less than the reply's limit.
  const least = effort !== "none" && rules.effort.forms[0] === "budget" ? rules.effort.budgets.least : 0;
  if (reasoningTokens !== undefined) return Math.max(least, reasoningTokens);
  if (effort === "none" || rules.effort.forms.length === 0) {
    return rules.reasons ? Math.max(0, Math.min(REASONING_TOKENS, MOST_TOKENS - maxTokens)) : 0;
  }
  return Math.max(least, Math.min(roomFor(rules.effort, effort, REASONING_TOKENS), MOST_TOKENS - maxTokens));
}

/** Strips the maker prefix and the variant suffix that routers add: `deepseek/deepseek-r1:free`. */
function bareName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).replace(/:.*$/, "");
}

/** Converts a router's 4.6 to Anthropic's 4-6. */
function claudeName(name: string): string {
  return bareName(name).replaceAll(".", "-");
}
