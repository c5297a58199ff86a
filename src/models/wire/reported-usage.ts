import { z } from "zod";
import { compact } from "../../platform/optional-values.js";
import { cacheWrites, reasoningUsage, type Usage } from "../model.js";
import type { JsonReply } from "./http-sender.js";

/**
 * Reads the tokens and cost that a server reports with a reply. All wire formats share this reader, because gateways
 * mix their field names. An invalid report never makes the reply unusable, and impossible numbers count as unreported.
 */

/** Tokens and US dollars of a call. `usage` is null if unknown. If `costUsd` is missing, the price table applies. */
export interface ReportedUsage {
  readonly usage: Usage | null;
  readonly costUsd?: number;
  readonly notes?: string[];
}

/** Ten times any model's largest context window. */
const MAX_TOKENS = 100_000_000;
const MAX_COST_USD = 10_000;

/** Unit of xAI's costs (https://docs.x.ai/developers/cost-tracking). */
const TICKS_PER_USD = 1e10;

/** LiteLLM's cost in US dollars (https://docs.litellm.ai/docs/proxy/response_headers). */
const COST_HEADER = "x-litellm-response-cost";

const isWhole = (value: number) => value >= 0 && value % 1 === 0;

/** Some gateways send numbers as text. */
const number = z.union([z.number(), z.string().trim().min(1).transform(Number)]);
/** Not limited to safe integers, so that an absurd count is noticed rather than ignored. */
const count = number.pipe(z.number().refine(isWhole)).nullish().catch(null);
const dollars = number.pipe(z.number().nonnegative()).nullish().catch(null);

const details = z
  .object({ cached_tokens: count, cache_write_tokens: count, reasoning_tokens: count, thinking_tokens: count })
  .nullish()
  .catch(null);

const reportSchema = z.object({
  // Chat completions. DeepSeek and Moonshot use their own names for cached tokens.
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: details,
  completion_tokens_details: details,
  prompt_cache_hit_tokens: count,
  cached_tokens: count,
  // Anthropic's Messages and OpenAI's Responses.
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: details,
  output_tokens_details: details,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: z.object({ ephemeral_1h_input_tokens: count }).nullish().catch(null),
  // Gemini.
  promptTokenCount: count,
  toolUsePromptTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
  cachedContentTokenCount: count,
  totalTokenCount: count,
  // OpenRouter (https://openrouter.ai/docs/use-cases/usage-accounting), Perplexity and xAI.
  cost: z
    .union([z.object({ total_cost: dollars }).transform(({ total_cost }) => total_cost), dollars])
    .nullish()
    .catch(null),
  // DeepInfra (https://deepinfra.com/docs/openai_api).
  estimated_cost: dollars,
  is_byok: z.boolean().nullish().catch(null),
  cost_details: z.object({ upstream_inference_cost: dollars }).nullish().catch(null),
  cost_in_usd_ticks: dollars,
});

type Report = z.output<typeof reportSchema>;

const replySchema = z.object({
  usage: reportSchema.nullish().catch(null),
  usageMetadata: reportSchema.nullish().catch(null),
});

/** Returns the usage in a reply's body and the cost in its body or headers. Never throws. */
export function reportedUsage({ body, header }: JsonReply): ReportedUsage {
  const { usage, usageMetadata } = replySchema.safeParse(body).data ?? {};
  const report = usage ?? usageMetadata ?? null;
  const counted = report === null ? null : toUsage(report);
  const costUsd = costOf(report) ?? headerCost(header(COST_HEADER));
  const impossible = counted !== null && Object.values(counted).some((tokens) => tokens > MAX_TOKENS);
  const isTooDear = costUsd !== null && costUsd > MAX_COST_USD;
  const notes = compact([
    impossible && `reports more than ${MAX_TOKENS} tokens for one reply. Its tokens count as unknown`,
    isTooDear && `reports a cost above $${MAX_COST_USD} for one reply. The price list applies instead`,
  ]);
  return {
    usage: impossible ? null : counted,
    ...(costUsd === null || isTooDear ? {} : { costUsd }),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

/** Returns null if the report does not include input tokens. */
function toUsage(report: Report): Usage | null {
  const cached = most(
    report.prompt_tokens_details?.cached_tokens,
    report.input_tokens_details?.cached_tokens,
    report.prompt_cache_hit_tokens,
    report.cached_tokens,
    report.cache_read_input_tokens,
    report.cachedContentTokenCount,
  );
  const writes = most(
    report.prompt_tokens_details?.cache_write_tokens,
    report.input_tokens_details?.cache_write_tokens,
    report.cache_creation_input_tokens,
  );
  const reportedInput = inputOf(report);
  if (reportedInput === null) return null;
  const reasoning = most(
    report.completion_tokens_details?.reasoning_tokens,
    report.output_tokens_details?.reasoning_tokens,
    report.output_tokens_details?.thinking_tokens,
    report.thoughtsTokenCount,
  );
  const completion =
    (report.completion_tokens ?? report.output_tokens ?? report.candidatesTokenCount ?? 0) +
    (report.thoughtsTokenCount ?? 0);
  const total = report.total_tokens ?? report.totalTokenCount ?? 0;
  const rest = Math.max(0, total - reportedInput - completion);
  const beside = besideInput({ input: reportedInput, cached, writes, rest, reasoning });
  // xAI and Gemini's compatible endpoint do not include reasoning in the completion tokens, but OpenAI does.
  const uncounted = Math.max(rest - beside, reasoning > completion ? reasoning : 0);
  return {
    inputTokens: reportedInput + beside,
    outputTokens: completion + uncounted,
    cachedInputTokens: cached,
    ...cacheWrites(writes, Math.min(writes, report.cache_creation?.ephemeral_1h_input_tokens ?? 0)),
    ...reasoningUsage(reasoning),
  };
}

/**
 * Anthropic does not include cached tokens in `input_tokens`, and Gemini does not include tool results in the prompt
 * tokens.
 */
function inputOf(report: Report): number | null {
  const prompt = report.prompt_tokens ?? report.promptTokenCount ?? null;
  if (prompt !== null) return prompt + (report.toolUsePromptTokenCount ?? 0);
  if (report.input_tokens == null) return null;
  return report.input_tokens + (report.cache_read_input_tokens ?? 0) + (report.cache_creation_input_tokens ?? 0);
}

/**
 * Returns the cached tokens that a server does not include in the input tokens, as Bedrock and its gateways count. They
 * are more than the input, or they explain what is left of the total: alone, or together with the reasoning.
 */
function besideInput({
  input,
  cached,
  writes,
  rest,
  reasoning,
}: Record<"input" | "cached" | "writes" | "rest" | "reasoning", number>): number {
  const isMore = cached + writes > input;
  const sums = [cached + writes, cached].filter((tokens) => tokens > 0);
  return sums.find((tokens) => rest === tokens || rest === tokens + reasoning) ?? (isMore ? cached + writes : 0);
}

function most(...counts: (number | null | undefined)[]): number {
  return Math.max(...counts.map((tokens) => tokens ?? 0));
}

function costOf(report: Report | null): number | null {
  const { cost: totalCost, estimated_cost, is_byok, cost_details, cost_in_usd_ticks } = report ?? {};
  const cost = totalCost ?? estimated_cost;
  if (cost != null) {
    // If the user has their own key for the provider, the cost that OpenRouter reports is only its fee.
    return cost + (is_byok === true ? (cost_details?.upstream_inference_cost ?? 0) : 0);
  }
  return cost_in_usd_ticks == null ? null : cost_in_usd_ticks / TICKS_PER_USD;
}

function headerCost(value: string | null): number | null {
  const cost = value === null || value.trim() === "" ? Number.NaN : Number(value);
  return cost >= 0 && cost < Number.POSITIVE_INFINITY ? cost : null;
}
