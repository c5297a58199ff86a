// Finds and reads the config file of a command line.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Environment } from "../../platform/environment.js";
import { UserError } from "../../platform/errors.js";
import type { CommandContext } from "../command.js";
import { readText } from "../flags/read-text.js";
import type { ConfigFile } from "./config-schema.js";

export interface OpenedConfig {
  readonly file: ConfigFile;
  readonly path: string;
  /** Whether --config specified the file. */
  readonly isNamed: boolean;
}

/**
 * Returns the database specified in the config file, which is the `--config` file or otherwise art-e.yaml in the
 * working directory. Returns null if the file does not specify a database, or if a flag or a variable does. The file is
 * parsed only if the word database is outside its comment lines, because every command calls this function.
 */
export async function configuredDatabase(
  { db, config }: Readonly<Record<string, unknown>>,
  env: Environment,
): Promise<string | null> {
  if (db !== undefined || env.ART_E_DB) return null;
  const path = typeof config === "string" ? config : CONFIG_NAME;
  if (path === "off" || !existsSync(path)) return null;
  const text = readText(path, path === CONFIG_NAME ? CONFIG_NAME : "--config");
  if (!/^(?!\s*#).*\bdatabase\b/m.test(text)) return null;
  const { parseConfig } = await import("./config-schema.js");
  return parseConfig(text, path).database;
}

export const CONFIG_NAME = "art-e.yaml";

/** Returns the config file for a command line, or null if no file exists. Throws a UserError for an invalid file. */
export async function openConfig(
  argv: Readonly<Record<string, unknown>>,
  { settings }: CommandContext,
): Promise<OpenedConfig | null> {
  const requestedPath = typeof argv.config === "string" ? argv.config : null;
  const path = requestedPath ?? findConfig(settings.db);
  if (path !== null && requestedPath !== "off") {
    const text = readText(path, requestedPath === null ? CONFIG_NAME : "--config");
    // Imported only if there is a config file.
    const { parseConfig } = await import("./config-schema.js");
    return { file: parseConfig(text, path), path, isNamed: requestedPath !== null };
  }
  if (argv.only === undefined) return null;
  throw new UserError("config_missing", "--only requires a config file.", "Add --config FILE.");
}

function findConfig(db: string): string | null {
  const candidates = [CONFIG_NAME, join(dirname(db), CONFIG_NAME)];
  return candidates.find((path) => existsSync(path)) ?? null;
}
