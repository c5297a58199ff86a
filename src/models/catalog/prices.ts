import { calcPrice, type PriceOptions } from "@pydantic/genai-prices";
import type { Usage } from "../../domain/models/model.js";
import { makersName } from "./makers.js";
import { ALIASES, PRICE_SUPPLEMENT } from "./price-supplement.js";

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number;
}

/** What writing to a cache costs, in prices of plain input: for five minutes, and for an hour. Anthropic's and OpenAI's rule. */
const CACHE_WRITE = 1.25;
const CACHE_WRITE_1H = 2;

/** What a call cost at a given price. Tokens written to a cache cost more than plain input by the makers' rule. */
export function priceAt(price: Price, usage: Usage): number {
  const { plain, cached, written, writtenForAnHour } = inputOf(usage);
  const forMinutes = written - writtenForAnHour;
  const input = plain + forMinutes * CACHE_WRITE + writtenForAnHour * CACHE_WRITE_1H;
  return (input * price.input + cached * price.cachedInput + usage.outputTokens * price.output) / 1_000_000;
}

/** The input in its parts. No more can be cached or written than there was, though some servers count otherwise. */
function inputOf({ inputTokens, cachedInputTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: Usage) {
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const writtenForAnHour = Math.min(cacheWrite1hTokens, written);
  return { plain: inputTokens - cached - written, cached, written, writtenForAnHour };
}

/** Under which name a table knows a model. */
interface Entry {
  readonly name: string;
  readonly options: PriceOptions;
}

/** By id; null: no table knows it. The library's is long, and would be gone through at every call. */
const entries = new Map<string, Entry | null>();

/** Names come from servers too: they may be many. */
const MAX_ENTRIES = 1_000;

/**
 * What a call cost, in USD, by the price table shipped with the library and by our own beside it; cached input and what was
 * written to a cache at their own prices. Null where neither knows the model, 0 for the providers that ask nobody. `modelId` is
 * `provider/name`; a name with the maker before it, as routers write them, costs what the maker takes. `at` picks the price of
 * a day where prices changed.
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

/** What a reply cost: by the model that it names, which is the one that is billed, else by the one that was asked. */
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
