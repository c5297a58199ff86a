import { existsSync } from "node:fs";
import { readText } from "../cli/read-text.js";
import { CONFIG_NAME } from "./open-config.js";

/**
 * The database that a config file names: that of `--config`, else art-e.yaml in the working folder. Null: none does.
 * The file is parsed only where it says so, since every command asks.
 */
export async function configuredDatabase({ config }: Readonly<Record<string, unknown>>): Promise<string | null> {
  const path = typeof config === "string" ? config : CONFIG_NAME;
  if (path === "off" || !existsSync(path)) return null;
  const text = readText(path, path === CONFIG_NAME ? CONFIG_NAME : "--config");
  if (!/^["']?database["']?\s*:/m.test(text)) return null;
  const { parseConfig } = await import("./parse-config.js");
  return parseConfig(text, path).database;
}
