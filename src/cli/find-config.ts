import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import type { CommandContext } from "./command.js";
import type { ConfigFile } from "./config-schema.js";
import { readText } from "./read-text.js";

/**
 * The database that a config file names: that of `--config`, else art-e.yaml in the working folder. Null: none does, or
 * a flag or a variable names one. The file is parsed only where it says so, since every command asks.
 */
export async function configuredDatabase(
  { db, config }: Readonly<Record<string, unknown>>,
  env: Environment,
): Promise<string | null> {
  if (db !== undefined || env.ART_E_DB) return null;
  const path = typeof config === "string" ? config : CONFIG_NAME;
  if (path === "off" || !existsSync(path)) return null;
  const text = readText(path, path === CONFIG_NAME ? CONFIG_NAME : "--config");
  if (!/^["']?database["']?\s*:/m.test(text)) return null;
  const { parseConfig } = await import("./config-schema.js");
  return parseConfig(text, path).database;
}

export const CONFIG_NAME = "art-e.yaml";

export interface OpenedConfig {
  readonly file: ConfigFile;
  readonly path: string;
  /** By --config. */
  readonly isNamed: boolean;
}

/** The config file of a command line; null: there is none. Throws a UserError for one that is wrong. */
export async function openConfig(
  argv: Readonly<Record<string, unknown>>,
  { settings }: CommandContext,
): Promise<OpenedConfig | null> {
  const named = typeof argv.config === "string" ? argv.config : null;
  const path = named ?? findConfig(settings.db);
  if (path !== null && named !== "off") {
    const text = readText(path, named === null ? CONFIG_NAME : "--config");
    // Loaded only where there is a file.
    const { parseConfig } = await import("./config-schema.js");
    return { file: parseConfig(text, path), path, isNamed: named !== null };
  }
  if (argv.only === undefined) return null;
  throw new UserError(
    "config_missing",
    "--only names runs of a file of settings, and there is none.",
    "Add --config FILE.",
  );
}

function findConfig(db: string): string | null {
  const candidates = [CONFIG_NAME, join(dirname(db), CONFIG_NAME)];
  return candidates.find((path) => existsSync(path)) ?? null;
}
