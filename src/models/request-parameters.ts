import type { ModelRequest, SentParameters } from "./model.js";
import { isReasoningModel, type ModelName } from "./model-names.js";

/** Which request parameters a model accepts. A text says why one is not accepted. */
export interface ParameterRules {
  readonly noTemperature: string | null;
  readonly noForcedTools: string | null;
  /** It reasons before it answers, and its provider counts that as output. */
  readonly reasons: boolean;
  /** The API refuses a smaller limit. */
  readonly minTokens: number;
}

/**
 * Added to the agent's `maxTokens` for reasoning, up to MOST_TOKENS in all: more may exceed the model's output limit.
 */
const REASONING_TOKENS = 16_384;
const MOST_TOKENS = 32_768;

/** Claude up to 4.6; every later one answers 400 to a temperature (platform.claude.com, migration 2026-10-21). */
const CLAUDE_WITH_TEMPERATURE = /^claude-(3-|(opus|sonnet|haiku)-4(-[0-6])?(-\d{8})?$)/;

/** From the fifth generation on: thinks by default, and rejects forced tool use with 400 while it does. */
const CLAUDE_THINKING = /^claude-(fable|mythos|[a-z]+-([5-9]|\d\d))/;

const GEMINI_THINKING = /^gemini-(2\.5-(pro|flash(?!-lite))|[3-9]|\d\d|(pro|flash)-latest)/;

/** Open models that always reason, by their names at compatible servers. */
const OPEN_REASONING = /^(gpt-oss|deepseek-(r\d|reasoner)|qwq|magistral|grok-(3-mini|[4-9]))|-(thinking|reasoning)\b/;

export function anthropicRules(name: string): ParameterRules {
  const bare = claudeName(name);
  const takesTemperature = !bare.startsWith("claude-") || CLAUDE_WITH_TEMPERATURE.test(bare);
  const isThinking = CLAUDE_THINKING.test(bare);
  return {
    noTemperature: takesTemperature ? null : `${name} takes no temperature`,
    noForcedTools: isThinking ? `${name} thinks before it calls a tool, and cannot be made to call one` : null,
    reasons: isThinking,
    minTokens: 1,
  };
}

export function googleRules(name: string): ParameterRules {
  return { noTemperature: null, noForcedTools: null, reasons: GEMINI_THINKING.test(bareName(name)), minTokens: 1 };
}

export function openaiRules(name: string, wireApi: "chat" | "responses"): ParameterRules {
  const isOpenaiReasoning = isReasoningModel(name);
  const bare = bareName(name);
  return {
    noTemperature: isOpenaiReasoning ? `${name} reasons, and takes no temperature` : null,
    noForcedTools: null,
    reasons:
      isOpenaiReasoning ||
      OPEN_REASONING.test(bare) ||
      GEMINI_THINKING.test(bare) ||
      CLAUDE_THINKING.test(claudeName(name)),
    minTokens: wireApi === "responses" ? 16 : 1,
  };
}

/** Null for providers that send no request. */
export function rulesFor({ provider, name }: ModelName, wireApi: "chat" | "responses"): ParameterRules | null {
  if (provider === "anthropic") return anthropicRules(name);
  if (provider === "google") return googleRules(name);
  return provider === "openai" ? openaiRules(name, wireApi) : null;
}

type Asked = Pick<ModelRequest, "maxTokens" | "reasoningTokens" | "temperature" | "toolChoice"> & {
  readonly hasTools: boolean;
};

/** The parameters actually sent for a request, with the reasons where they differ from it. */
export function sentParameters(rules: ParameterRules, asked: Asked): SentParameters {
  const { maxTokens: asksTokens, temperature: asksTemperature, hasTools } = asked;
  const adjusted: NonNullable<SentParameters["adjusted"]>[number][] = [];
  const maxTokens = Math.max(rules.minTokens, asksTokens + reasoningRoom(rules, asked));
  if (maxTokens !== asksTokens) {
    const reason =
      reasoningRoom(rules, asked) > 0
        ? "room for the model's reasoning, which counts as output"
        : `the API takes no fewer than ${rules.minTokens}`;
    adjusted.push({ parameter: "maxTokens", asked: asksTokens, sent: maxTokens, reason });
  }
  let temperature = asksTemperature ?? null;
  if (temperature !== null && rules.noTemperature !== null) {
    adjusted.push({ parameter: "temperature", asked: temperature, sent: null, reason: rules.noTemperature });
    temperature = null;
  }
  let toolChoice = hasTools ? asked.toolChoice : null;
  if (toolChoice === "required" && rules.noForcedTools !== null) {
    adjusted.push({ parameter: "toolChoice", asked: toolChoice, sent: "auto", reason: rules.noForcedTools });
    toolChoice = "auto";
  }
  return { maxTokens, temperature, toolChoice, ...(adjusted.length === 0 ? {} : { adjusted }) };
}

export function sentOf(rules: ParameterRules, request: ModelRequest): SentParameters {
  return sentParameters(rules, { hasTools: request.tools.length > 0, ...request });
}

/** Output tokens reserved for reasoning: as set, or else by the kind of model. */
export function reasoningRoom(
  rules: ParameterRules | null,
  asked: Pick<Asked, "maxTokens" | "reasoningTokens">,
): number {
  if (rules === null) return 0;
  if (asked.reasoningTokens !== undefined) return asked.reasoningTokens;
  return rules.reasons ? Math.max(0, Math.min(REASONING_TOKENS, MOST_TOKENS - asked.maxTokens)) : 0;
}

/** Routers put the maker before the name, and a variant behind it: `deepseek/deepseek-r1:free`. */
function bareName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).replace(/:.*$/, "");
}

/** Routers write 4.6 where Anthropic writes 4-6. */
function claudeName(name: string): string {
  return bareName(name).replaceAll(".", "-");
}
