import { calcPrice, type PriceOptions } from "@pydantic/genai-prices";
import type { PriceOf, Usage } from "../../domain/models/model.js";
import { makersName } from "./model-vendors.js";
import { ALIASES, PRICE_SUPPLEMENT } from "./price-supplement.js";

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
}

/** Cache writes as multiples of the input price, for five minutes and for an hour: Anthropic's and OpenAI's rule. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_1H = 2;

/** Cost of a call at a given price. Cache writes are charged at the multiples above. */
export function priceAt(price: Price, usage: Usage): number {
  const { plain, cached, written, writtenForAnHour } = inputOf(usage);
  const forMinutes = written - writtenForAnHour;
  const input = plain + forMinutes * CACHE_WRITE + writtenForAnHour * CACHE_WRITE_1H;
  return (input * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/** Splits the input tokens. Cached and written are capped at the input, since some servers count them beside it. */
function inputOf({ inputTokens, cachedInputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: Usage) {
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const writtenForAnHour = Math.min(cacheWrite1hTokens, written);
  return { plain: inputTokens - cached - written, cached, written, writtenForAnHour };
}

/** A model's name in a price table, and which table it is in. */
interface Entry {
  readonly name: string;
  readonly options: PriceOptions;
}

/** By model id; null: in no table. The library scans its table at every call. */
const entries = new Map<string, Entry | null>();

/** Model names also come from servers' replies, so their number is not bounded. */
const MAX_ENTRIES = 1_000;

/**
 * Cost of a call in USD by the library's price table and our supplement, with separate prices for cached input and
 * cache writes. Null for an unknown model, 0 for the offline and replay providers. `modelId` is `provider/name`; a
 * router's `maker/name` is charged at the maker's price. `at`: the day whose prices apply.
 */
export function priceOf(modelId: string, usage: Usage, at?: Date): number | null {
  const provider = modelId.slice(0, modelId.indexOf("/"));
  if (provider === "offline" || provider === "replay") return 0;
  const entry = entryOf(modelId);
  if (entry === null) return null;
  const { cached, written, writtenForAnHour } = inputOf(usage);
  const tokens = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: cached,
    ...(written === 0 ? {} : { cache_write_tokens: written }),
    ...(writtenForAnHour === 0 ? {} : { cache_write_1h_tokens: writtenForAnHour }),
  };
  const options = { ...entry.options, ...(at === undefined ? {} : { timestamp: at }) };
  return calcPrice(tokens, entry.name, options)?.total_price ?? null;
}

/** Whether calls can be priced: nothing else keeps a limit in dollars. */
export function isPriced(price: PriceOf): boolean {
  return price({ inputTokens: 1_000_000, outputTokens: 1_000_000, cachedInputTokens: 0 }) !== null;
}

/** Cost of a reply, by the model it names (the one that is billed), or else by the model requested. */
export function priceOfReply(modelId: string, answeredBy: string | undefined, usage: Usage, at?: Date): number | null {
  const provider = modelId.slice(0, modelId.indexOf("/"));
  const billed = answeredBy === undefined ? null : priceOf(`${provider}/${answeredBy}`, usage, at);
  return billed ?? priceOf(modelId, usage, at);
}

function entryOf(modelId: string): Entry | null {
  const known = entries.get(modelId);
  if (known !== undefined) return known;
  const found = findEntry(modelId);
  if (entries.size >= MAX_ENTRIES) entries.clear();
  entries.set(modelId, found);
  return found;
}

function findEntry(modelId: string): Entry | null {
  const slash = modelId.indexOf("/");
  const provider = modelId.slice(0, slash);
  const name = modelId.slice(slash + 1);
  const own = entryAt(provider, name);
  if (own !== null || !name.includes("/")) return own;
  const made = makersName(name);
  return made === null ? null : entryAt(made.maker, made.name);
}

function entryAt(provider: string, given: string): Entry | null {
  const name = ALIASES[`${provider}/${given}`] ?? given;
  const models = Object.entries(PRICE_SUPPLEMENT).find(([id]) => id === provider)?.[1] ?? [];
  const supplement = { id: provider, name: provider, api_pattern: "", models: [...models] };
  const tables: PriceOptions[] = [{ provider: supplement }, { providerId: provider }];
  const options = tables.find((table) => calcPrice({ input_tokens: 1 }, name, table) !== null);
  return options === undefined ? null : { name, options };
}
