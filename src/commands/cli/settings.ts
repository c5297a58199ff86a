import type { Environment } from "../../app/settings/env-file.js";
import type { AppSettings } from "../../app/use-case-context.js";
import { UserError } from "../../domain/errors.js";

/** The global flags, checked and complete. */
export interface Settings extends AppSettings {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly progress: boolean;
}

export const DEFAULT_DB = "./art-e.db";
export const DEFAULT_CACHE_DIR = "./.art-e-cache";

/** Flags win over the environment, the environment over `configuredDb` of a config file, and that over the defaults. */
export function readSettings(
  argv: Readonly<Record<string, unknown>>,
  env: Environment,
  configuredDb: string | null = null,
): Settings {
  return {
    db: path("--db", argv.db) ?? (env.ART_E_DB || (configuredDb ?? DEFAULT_DB)),
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
