import { existsSync } from "node:fs";
import type { Environment } from "../../app/settings/env-file.js";
import { readText } from "../cli/read-text.js";
import { CONFIG_NAME } from "./open-config.js";

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
  const { parseConfig } = await import("./parse-config.js");
  return parseConfig(text, path).database;
}
