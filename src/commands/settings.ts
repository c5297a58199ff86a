import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { UserError } from "../domain/errors.js";
import type { Connection } from "../models/connection.js";
import { API_KEY_VARIABLES, type Provider } from "../models/providers.js";
import { DEFAULT_ENDPOINT, type Hub } from "../questions/hub.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What every command is told, checked and complete. */
export interface Settings {
  readonly db: string;
  readonly cacheDir: string;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly progress: boolean;
  readonly verbose: boolean;
  readonly env: Environment;
}

export const DEFAULT_DB = "./art-e.db";
export const DEFAULT_CACHE_DIR = "./.art-e-cache";

/** The environment, and under it what `.env` in the working folder says. */
export function readEnvironment(): Environment {
  let text: string;
  try {
    text = readFileSync(".env", "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR") return process.env;
    throw new UserError("env_unreadable", `.env cannot be read: ${message}`, "Check that you may read it.");
  }
  return { ...(parseEnv(text) as Environment), ...process.env };
}

/** Flags win over the environment, the environment over the defaults. */
export function readSettings(argv: Readonly<Record<string, unknown>>, env: Environment): Settings {
  return {
    db: path("--db", argv.db) ?? (env.ART_E_DB || DEFAULT_DB),
    cacheDir: path("--cache-dir", argv.cacheDir) ?? (env.ART_E_CACHE_DIR || DEFAULT_CACHE_DIR),
    json: argv.json === true,
    quiet: argv.quiet === true,
    progress: argv.noProgress !== true,
    verbose: argv.verbose === true,
    env,
  };
}

function path(flag: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new UserError("flag_invalid", `${flag}: expected a path.`, "See art-e --help.");
}

export function hubOf({ env }: Settings): Hub {
  return {
    endpoint: env.HF_ENDPOINT || DEFAULT_ENDPOINT,
    rowsEndpoint: env.HF_ROWS_ENDPOINT || undefined,
    token: env.HF_TOKEN || null,
  };
}

/** Where each provider's server is, if not at its maker's. */
const BASE_URL_VARIABLES: Readonly<Partial<Record<Provider, string>>> = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  google: "GOOGLE_BASE_URL",
};

/** The address of a provider's server: as the flag says, else the environment; null for its maker's own. */
export function baseUrlOf(provider: Provider, flag: string | undefined, env: Environment): string | null {
  return flag ?? (env[BASE_URL_VARIABLES[provider] ?? ""] || null);
}

/** How to reach a provider: keys come from the environment alone, so that they stand in no shell history. */
export function connectionOf(provider: Provider, reach: Omit<Connection, "apiKey">, env: Environment): Connection {
  const variable = API_KEY_VARIABLES[provider].find((name) => env[name]);
  return { ...reach, apiKey: variable === undefined ? null : (env[variable] ?? null) };
}
