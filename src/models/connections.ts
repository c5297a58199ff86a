// Which server and which key a provider's calls use.
import { type Environment, keyFor, refuseStrangeAddress } from "../platform/environment.js";
import { checkBaseUrl, type EndpointSettings } from "./endpoint.js";
import { API_KEY_VARIABLES, type Provider } from "./model-names.js";

/** Environment variables that override a provider's server address. */
const BASE_URL_VARIABLES: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GOOGLE_BASE_URL",
};

export function baseUrlVariable(provider: Provider): string | null {
  return BASE_URL_VARIABLES[provider] ?? null;
}

function addressOf(provider: Provider, flag: string) {
  return { url: BASE_URL_VARIABLES[provider] ?? "", keys: API_KEY_VARIABLES[provider], flag };
}

/**
 * Returns the address of a provider's server from the flag, otherwise from the environment, or null for the provider's
 * own server. Throws a UserError if a `.env` file would send keys from the environment to another server. The error
 * recommends the flag `name`.
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

/** Like `baseUrlOf`, but validated and without trailing slashes, because replies and verdicts are stored per server. */
export function serverOf(provider: Provider, flag: string | undefined, env: Environment, name?: string): string | null {
  const baseUrl = baseUrlOf(provider, flag, env, name);
  return baseUrl === null ? null : checkBaseUrl(baseUrl);
}

/** Applies the check of `baseUrlOf` to an address that is stored in a run and was not passed on this command line. */
export function refuseStoredAddress(provider: Provider, baseUrl: string | null, env: Environment): void {
  if (baseUrl !== null) refuseStrangeAddress(addressOf(provider, "--base-url"), baseUrl, env);
}

/**
 * Returns a provider's endpoint with its key. Keys come only from the environment, so that they never appear in a shell
 * history.
 */
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
