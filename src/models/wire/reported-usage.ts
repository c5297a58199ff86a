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

/** The reported numbers by name in snake case. Numbers in objects are named by path, such as `cost.total_cost`. */
type Report = ReadonlyMap<string, number>;

/** Names of counts, which servers and gateways vary and mix. The larger one counts if a report has several. */
const CACHE_READS = /cache(?:d|_hit|_read)\w*_tokens?(?:_count)?$/;
const CACHE_WRITES = /cache_(?:creation|write)\w*_tokens?(?:_count)?$/;
const HOUR_WRITES = /ephemeral_1h_input_tokens$/;
const REASONING = /(?:reasoning|thinking|thoughts)_tokens?(?:_count)?$/;

const replySchema = z.object({ usage: z.unknown().optional(), usageMetadata: z.unknown().optional() });

/** Deeper than any report. */
const MAX_DEPTH = 4;

function numbersIn(report: unknown, path = "", depth = 0): [string, number][] {
  if (typeof report !== "object" || report === null || Array.isArray(report) || depth > MAX_DEPTH) return [];
  return Object.entries(report).flatMap(([name, value]) => {
    const at = `${path}${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
    const amount = amountOf(value);
    return amount === null ? numbersIn(value, `${at}.`, depth + 1) : [[at, amount]];
  });
}

/** Returns a number, which some gateways send as text, or null. A flag (`is_byok`) is 1 if it is true. */
function amountOf(value: unknown): number | null {
  const isNumber = ["number", "boolean"].includes(typeof value) || (typeof value === "string" && value.trim() !== "");
  const amount = isNumber ? Number(value) : Number.NaN;
  return amount >= 0 && amount < Number.POSITIVE_INFINITY ? amount : null;
}

/** Returns the usage in a reply's body and the cost in its body or headers. Never throws. */
export function reportedUsage({ body, header }: JsonReply): ReportedUsage {
  const { usage, usageMetadata } = replySchema.safeParse(body).data ?? {};
  const report: Report = new Map(numbersIn(usage ?? usageMetadata));
  const counted = toUsage(report);
  const costUsd = costOf(report) ?? amountOf(header(COST_HEADER));
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

/** Returns the tokens in a report, or null if it does not include input tokens. */
function toUsage(report: Report): Usage | null {
  // Not limited to safe integers, so that an absurd count is noticed rather than ignored.
  const counts = new Map([...report].filter(([, number]) => number % 1 === 0));
  const names = [...counts.keys()];
  // Some gateways send the names of two APIs, one of them with zeros.
  const first = (...synonyms: string[]) =>
    counts.get(synonyms.find((name) => counts.get(name)) ?? synonyms.find((name) => counts.has(name)) ?? "");
  const most = (pattern: RegExp) =>
    names.filter((name) => pattern.test(name)).reduce((largest, name) => Math.max(largest, counts.get(name) ?? 0), 0);
  const [cached, writes, reasoning] = [most(CACHE_READS), most(CACHE_WRITES), most(REASONING)];
  const prompt = first("prompt_tokens", "prompt_token_count");
  // Cohere's own API has its counts in `tokens`.
  const ownInput = first("prompt_tokens", "prompt_token_count", "input_tokens", "tokens.input_tokens");
  if (ownInput === undefined) return null;
  const input = ownInput + (counts.get("tool_use_prompt_token_count") ?? 0);
  const output = first("completion_tokens", "output_tokens", "candidates_token_count", "tokens.output_tokens") ?? 0;
  const isCacheOutside = prompt === undefined && !names.some((name) => name.startsWith("input_tokens_details."));
  const more = tokensBeside({
    input,
    output,
    cached,
    reasoning,
    inCache: cached + writes,
    rest: (first("total_tokens", "total_token_count") ?? -1) - input - output,
    byName: { input: isCacheOutside ? cached + writes : 0, output: counts.get("thoughts_token_count") ?? 0 },
  });
  return {
    inputTokens: input + more.input,
    outputTokens: output + more.output,
    cachedInputTokens: cached,
    ...cacheWrites(writes, Math.min(writes, most(HOUR_WRITES))),
    ...reasoningUsage(reasoning),
  };
}

/** The counts that decide which tokens are not part of the input and output. */
interface Counts {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  /** Cache reads and writes. */
  readonly inCache: number;
  /** Tokens of the total beyond input and output, or negative without a total. */
  readonly rest: number;
  /** What the API, known by its names, counts outside: Anthropic its cache, and Gemini its thoughts. */
  readonly byName: { readonly input: number; readonly output: number };
}

/**
 * Returns the tokens to add to the input and output. Servers disagree on whether cached tokens are part of the input,
 * and reasoning part of the output. If they report a total, the rest of it decides: it is explained by cached tokens
 * first (Bedrock and its gateways), then by reasoning (xAI and Gemini).
 */
function tokensBeside({ input, output, cached, reasoning, inCache, rest, byName }: Counts) {
  // More than the whole cannot be a part of it. If the total does not include it, `chargeOf` rejects it.
  const outsideOutput = reasoning > output ? reasoning : 0;
  const outsideInput = inCache > input ? inCache : 0;
  if (rest < 0) return { input: byName.input || outsideInput, output: byName.output || outsideOutput };
  const left = Math.max(0, rest - outsideOutput);
  const sums = [inCache, cached].filter((tokens) => tokens > 0);
  const moreInput = sums.find((sum) => left === sum || left === sum + reasoning) ?? (left > 0 ? outsideInput : 0);
  return { input: moreInput, output: Math.max(rest - moreInput, outsideOutput) };
}

function costOf(report: Report): number | null {
  // Perplexity reports a cost per part, and DeepInfra (https://deepinfra.com/docs/openai_api) an estimated one.
  const cost = report.get("cost") ?? report.get("cost.total_cost") ?? report.get("estimated_cost");
  if (cost !== undefined) {
    // If the user has their own key for the provider, OpenRouter's cost is only its fee
    // (https://openrouter.ai/docs/use-cases/usage-accounting).
    return cost + (report.get("is_byok") === 1 ? (report.get("cost_details.upstream_inference_cost") ?? 0) : 0);
  }
  const ticks = report.get("cost_in_usd_ticks");
  return ticks === undefined ? null : ticks / TICKS_PER_USD;
}
