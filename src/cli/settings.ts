// Reads the global flags. They override the environment, which overrides the config file and the defaults.
import { type AppSettings, DEFAULT_CACHE_DIR, DEFAULT_DB } from "../platform/app-context.js";
import { stripControls } from "../platform/control-characters.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";

/** The global flags, checked and with their defaults. */
export interface Settings extends AppSettings {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly progress: boolean;
  readonly verbose: boolean;
}

/** Flags override the environment, which overrides the config file's `configuredDb`, which overrides the defaults. */
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
    agentStderr: argv.verbose === true ? (text) => process.stderr.write(stripControls(text)) : null,
    env,
  };
}

function path(flag: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new UserError("flag_invalid", `${flag}: expected a path.`, "See art-e --help.");
}
