import { DEFAULT_ENDPOINT, type Hub } from "../../huggingface/hub.js";
import { checkBaseUrl, type EndpointSettings } from "../../models/endpoint.js";
import { API_KEY_VARIABLES, type Provider } from "../../models/provider-names.js";
import { type Environment, isFromFile, keyFor, refuseStrangeAddress } from "./env-file.js";

const HUB = { url: "HF_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ENDPOINT in the environment" };
const HUB_ROWS = { url: "HF_ROWS_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ROWS_ENDPOINT in the environment" };

export function hubOf(env: Environment): Hub {
  const endpoint = env.HF_ENDPOINT || null;
  const rows = env.HF_ROWS_ENDPOINT || null;
  if (endpoint !== null) refuseStrangeAddress(HUB, endpoint, env);
  if (rows !== null) refuseStrangeAddress(HUB_ROWS, rows, env);
  // Both endpoints use one token: that of `.env` where `.env` names either.
  const token =
    rows !== null && isFromFile(env, HUB_ROWS.url, rows) ? keyFor(HUB_ROWS, rows, env) : keyFor(HUB, endpoint, env);
  return { endpoint: endpoint ?? DEFAULT_ENDPOINT, rowsEndpoint: rows ?? undefined, token };
}

/** Variables with the address of a provider's server, where it is not the provider's own. */
const BASE_URL_VARIABLES: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GOOGLE_BASE_URL",
};

function addressOf(provider: Provider, flag: string) {
  return { url: BASE_URL_VARIABLES[provider] ?? "", keys: API_KEY_VARIABLES[provider], flag };
}

/**
 * The address of a provider's server: of the flag, else of the environment; null for the provider's own. Throws a
 * UserError where a `.env` file would send keys of the environment to another server. `name` is the flag to recommend
 * then.
 */
export function baseUrlOf(
  provider: Provider,
  flag: string | undefined,
  env: Environment,
  name = "--base-url",
): string | null {
  if (flag !== undefined) return flag;
  const address = addressOf(provider, name);
  const value = env[address.url] || null;
  if (value !== null) refuseStrangeAddress(address, value, env);
  return value;
}

/** The same, checked, and without slashes at its end: replies and verdicts are kept by it. */
export function serverOf(provider: Provider, flag: string | undefined, env: Environment, name?: string): string | null {
  const baseUrl = baseUrlOf(provider, flag, env, name);
  return baseUrl === null ? null : checkBaseUrl(baseUrl);
}

/** Refuses like `baseUrlOf`, for an address that was stored with a run, and so was not given on this command line. */
export function refuseStoredAddress(provider: Provider, baseUrl: string | null, env: Environment): void {
  if (baseUrl !== null) refuseStrangeAddress(addressOf(provider, "--base-url"), baseUrl, env);
}

/** The endpoint of a provider with its key. Keys come from the environment only, so that no shell history has them. */
export function connectionOf(
  provider: Provider,
  reach: Omit<EndpointSettings, "apiKey">,
  env: Environment,
): EndpointSettings {
  return { ...reach, apiKey: keyFor(addressOf(provider, ""), reach.baseUrl, env) };
}

export function hasKey(provider: Provider, env: Environment): boolean {
  return API_KEY_VARIABLES[provider].some((variable) => env[variable]);
}

const PLAYGROUND = { url: "API_URL", keys: ["API_TOKEN"], flag: "--api-url" } as const;

/** The playground server that the environment names; undefined: none. */
export function playgroundUrlOf(env: Environment): string | undefined {
  const url = env.API_URL || undefined;
  if (url !== undefined) refuseStrangeAddress(PLAYGROUND, url, env);
  return url;
}

/** Bearer token for a playground server; empty where there is none. */
export function playgroundTokenOf(url: string, env: Environment): string {
  return (keyFor(PLAYGROUND, url, env) ?? "").trim();
}
