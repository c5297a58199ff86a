// Reads the tokens and cost that a server reports with a reply. All wire formats share this reader, because gateways
// mix their field names. An invalid report never makes the reply unusable, and impossible numbers count as unreported.
import { z } from "zod";
import { compact } from "../../platform/optional-values.js";
import { cacheWrites, MAX_COST_USD, MAX_TOKENS, reasoningUsage, type Usage } from "../usage.js";
import type { JsonReply } from "./http-sender.js";

/** Tokens and US dollars of a call. `usage` is null if unknown. If `costUsd` is missing, the price table applies. */
export interface ReportedUsage {
  readonly usage: Usage | null;
  readonly costUsd?: number;
  readonly notes?: string[];
}

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

const fields = z.object({
  // Chat completions. DeepSeek and Moonshot use their own names for cached tokens.
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: details,
  completion_tokens_details: details,
  prompt_cache_hit_tokens: count,
  cached_tokens: count,
  // Anthropic's Messages, OpenAI's Responses and Bedrock.
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: details,
  output_tokens_details: details,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_write_input_tokens: count,
  cache_creation: z.object({ ephemeral_1h_input_tokens: count }).nullish().catch(null),
  // Gemini.
  prompt_token_count: count,
  tool_use_prompt_token_count: count,
  candidates_token_count: count,
  thoughts_token_count: count,
  cached_content_token_count: count,
  total_token_count: count,
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

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Reads names in either case: Gemini and Bedrock use camel case, and so do some gateways. */
const reportSchema = z
  .record(z.string(), z.unknown())
  .transform((report) => Object.fromEntries(Object.entries(report).map(([name, value]) => [snakeCase(name), value])))
  .pipe(fields);

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

/**
 * Returns null if the report does not include input tokens. Servers disagree on whether cached tokens are part of the
 * input, and reasoning part of the output. If they report a total, the rest of it decides: it is explained by cached
 * tokens first (Bedrock and its gateways), then by reasoning (xAI and Gemini).
 */
function toUsage(report: Report): Usage | null {
  const cached = most(
    report.prompt_tokens_details?.cached_tokens,
    report.input_tokens_details?.cached_tokens,
    report.prompt_cache_hit_tokens,
    report.cached_tokens,
    report.cache_read_input_tokens,
    report.cached_content_token_count,
  );
  const writes = most(
    report.prompt_tokens_details?.cache_write_tokens,
    report.input_tokens_details?.cache_write_tokens,
    report.cache_creation_input_tokens,
    report.cache_write_input_tokens,
  );
  const reasoning = most(
    report.completion_tokens_details?.reasoning_tokens,
    report.output_tokens_details?.reasoning_tokens,
    report.output_tokens_details?.thinking_tokens,
    report.thoughts_token_count,
  );
  const prompt = report.prompt_tokens ?? report.prompt_token_count ?? null;
  const reportedInput = prompt ?? report.input_tokens ?? null;
  if (reportedInput === null) return null;
  const input = reportedInput + (report.tool_use_prompt_token_count ?? 0);
  const output = report.completion_tokens ?? report.output_tokens ?? report.candidates_token_count ?? 0;
  const rest = (report.total_tokens ?? report.total_token_count ?? -1) - input - output;

  // More than the whole cannot be a part of it. If the total does not include it, `chargeOf` rejects it.
  const outsideOutput = reasoning > output ? reasoning : 0;
  const outsideInput = cached + writes > input ? cached + writes : 0;
  let [moreInput, moreOutput] = [outsideInput, outsideOutput];
  if (rest >= 0) {
    const left = Math.max(0, rest - outsideOutput);
    const sums = [cached + writes, cached].filter((tokens) => tokens > 0);
    moreInput = sums.find((tokens) => left === tokens || left === tokens + reasoning) ?? (left > 0 ? outsideInput : 0);
    moreOutput = Math.max(rest - moreInput, outsideOutput);
  } else {
    // Without a total, the names show the API: Anthropic and Gemini count them outside.
    if (prompt === null && report.input_tokens_details == null) moreInput = cached + writes;
    moreOutput = report.thoughts_token_count ?? outsideOutput;
  }
  return {
    inputTokens: input + moreInput,
    outputTokens: output + moreOutput,
    cachedInputTokens: cached,
    ...cacheWrites(writes, Math.min(writes, report.cache_creation?.ephemeral_1h_input_tokens ?? 0)),
    ...reasoningUsage(reasoning),
  };
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
