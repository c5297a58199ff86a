// Prices of models from a library's table, and a supplement for those that it lacks.
import { type ConditionalPrice, calcPrice, type ModelInfo, type PriceOptions } from "@pydantic/genai-prices";
import { presentProperties } from "../platform/optional-values.js";
import { inputOf } from "./call-cost.js";
import { makersName, type Provider } from "./model-names.js";
import type { Usage } from "./usage.js";

interface PriceEntry {
  readonly name: string;
  readonly options: PriceOptions;
}

/** List prices of a model. `long` applies to the entire call if its input exceeds `above` tokens. */
interface Rates {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly written?: number;
  readonly writtenForAnHour?: number;
  readonly long?: { readonly above: number; readonly input: number; readonly output: number };
}

/**
 * Entries per model ID, or null if no table contains the model. Cached because the library scans its table on every
 * call.
 */
const entries = new Map<string, PriceEntry | null>();

/** Cache limit. Model names also come from server replies, so their number is unbounded. */
const MAX_ENTRIES = 1_000;

/**
 * Returns the cost of a call in US dollars based on the library's price table and our supplement, with separate prices
 * for cached input and cache writes. Returns null for an unknown model, and 0 for the offline and replay providers.
 * `modelId` is `provider/name`. The maker's price applies to `maker/name` at a router. `at` is the day for which prices
 * are looked up.
 */
export function priceOf(modelId: string, usage: Usage, at?: Date): number | null {
  const provider = modelId.slice(0, modelId.indexOf("/"));
  if (provider === "offline" || provider === "replay") return 0;
  const entry = entryOf(modelId);
  if (entry === null) return null;
  const { cached, cacheWrites, writtenForAnHour } = inputOf(usage);
  const tokens = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: cached,
    ...(cacheWrites === 0 ? {} : { cache_write_tokens: cacheWrites }),
    ...(writtenForAnHour === 0 ? {} : { cache_write_1h_tokens: writtenForAnHour }),
  };
  const options = { ...entry.options, ...presentProperties({ timestamp: at }) };
  return calcPrice(tokens, entry.name, options)?.total_price ?? null;
}

/** Returns the cost of a reply for the model in the reply (which is billed), otherwise for the requested model. */
export function priceOfReply(modelId: string, answeredBy: string | undefined, usage: Usage, at?: Date): number | null {
  const provider = modelId.slice(0, modelId.indexOf("/"));
  const billed = answeredBy === undefined ? null : priceOf(`${provider}/${answeredBy}`, usage, at);
  return billed ?? priceOf(modelId, usage, at);
}

function entryOf(modelId: string): PriceEntry | null {
  const cached = entries.get(modelId);
  if (cached !== undefined) return cached;
  const entry = findEntry(modelId);
  if (entries.size >= MAX_ENTRIES) entries.clear();
  entries.set(modelId, entry);
  return entry;
}

function findEntry(modelId: string): PriceEntry | null {
  const slash = modelId.indexOf("/");
  const provider = modelId.slice(0, slash);
  const name = modelId.slice(slash + 1);
  const own = entryAt(provider, name);
  if (own !== null || !name.includes("/")) return own;
  const original = makersName(name);
  return original === null ? null : entryAt(original.maker, original.name);
}

function entryAt(provider: string, requested: string): PriceEntry | null {
  const name = ALIASES[`${provider}/${requested}`] ?? requested;
  const models = Object.entries(PRICE_SUPPLEMENT).find(([id]) => id === provider)?.[1] ?? [];
  const supplement = { id: provider, name: provider, api_pattern: "", models: [...models] };
  const tables: PriceOptions[] = [{ provider: supplement }, { providerId: provider }];
  const options = tables.find((table) => calcPrice({ input_tokens: 1 }, name, table) !== null);
  return options === undefined ? null : { name, options };
}

/*
 * Prices that are missing or outdated in the library's table, in US dollars per million tokens and the library's own
 * format, entered on 2026-11-22. The comment on each entry is the maker's page. Remove an entry once the library
 * includes it.
 */

/** `long.input` multiplies the input and cache rates, and `long.output` multiplies the output rate. */
function prices({ input, output, cached, written, writtenForAnHour, long }: Rates): ConditionalPrice["prices"] {
  const rate = (base: number, factor = long?.input ?? 1) =>
    long === undefined ? base : { base, tiers: [{ start: long.above, price: base * factor }] };
  return {
    input_mtok: rate(input),
    cache_read_mtok: rate(cached),
    output_mtok: rate(output, long?.output),
    ...(written === undefined ? {} : { cache_write_mtok: rate(written) }),
    ...(writtenForAnHour === undefined ? {} : { cache_write_1h_mtok: rate(writtenForAnHour) }),
  };
}

/** Creates a table entry. The `later` rates apply from their day on (UTC). */
function model(id: string, now: Rates, later?: readonly [day: string, rates: Rates]): ModelInfo {
  const name = id.replaceAll(".", "\\.");
  return {
    id,
    // Also matches dated snapshots of the model, which cost the same.
    match: { regex: `^${name}(-\\d{8}|-\\d{4}-\\d{2}-\\d{2})?$` },
    prices:
      later === undefined
        ? prices(now)
        : [
            { prices: prices(now) },
            { constraint: { type: "start_date", start_date: later[0] }, prices: prices(later[1]) },
          ],
  };
}

// platform.claude.com/docs/en/models/haiku-5-5/overview
const HAIKU_5_5: Rates = {
  input: 0.1,
  output: 0.5,
  cached: 0.01,
  written: 0.125,
  writtenForAnHour: 0.2,
  long: { above: 100_000, input: 5, output: 5 },
};

// platform.claude.com/docs/en/models/sonnet-5-5/overview. Since 2026-10-07, cache reads cost 5% of the input price (see
// below).
const SONNET_5_5: Rates = { input: 2, output: 10, cached: 0.2, written: 2.5, writtenForAnHour: 4 };

// platform.claude.com/docs/en/models/overview. Cache writes follow Anthropic's rule (1.25 times the input price, or 2
// times for one hour).
const FABLE_5_2: Rates = { input: 8, output: 40, cached: 0.2, written: 10, writtenForAnHour: 16 };

const OPENAI_LONG = { above: 272_000, input: 2, output: 1.5 };

// developers.openai.com/api/docs/models/gpt-6.1-sol and gpt-6.2-sol
const SOL: Rates = { input: 2, output: 10, cached: 0.1, written: 2.5, long: OPENAI_LONG };

// developers.openai.com/api/docs/models/gpt-6.1-terra
const TERRA: Rates = { input: 1, output: 5, cached: 0.05, written: 1.25, long: OPENAI_LONG };

// Both Gemini 4 models have an introductory price until 2026-11-30 (ai.google.dev/gemini-api/docs/pricing).
const GEMINI_4: Rates = { input: 2, output: 10, cached: 0.1 };
const GEMINI_4_LATER = ["2026-12-01", { input: 4, output: 20, cached: 0.2 }] as const;

const PRICE_SUPPLEMENT: Readonly<Partial<Record<Provider, readonly ModelInfo[]>>> = {
  anthropic: [
    model("claude-haiku-5-5", HAIKU_5_5),
    model("claude-sonnet-5-5", SONNET_5_5, ["2026-10-07", { ...SONNET_5_5, cached: 0.1 }]),
    model("claude-fable-5-2", FABLE_5_2),
  ],
  openai: [model("gpt-6.1-sol", SOL), model("gpt-6.2-sol", SOL), model("gpt-6.1-terra", TERRA)],
  google: [model("gemini-4-argon", GEMINI_4, GEMINI_4_LATER), model("gemini-4-carbon", GEMINI_4, GEMINI_4_LATER)],
};

/**
 * Moving aliases (`provider/alias`) and the models whose prices applied to them on 2026-11-22. The price of any other
 * alias is unknown.
 */
const ALIASES: Readonly<Record<string, string>> = {
  "google/gemini-flash-latest": "gemini-3.8-flash",
};
