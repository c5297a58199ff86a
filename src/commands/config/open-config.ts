import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../../domain/errors.js";
import type { CommandContext } from "../cli/command.js";
import { readText } from "../cli/read-text.js";
import type { ConfigFile } from "./parse-config.js";

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
    const { parseConfig } = await import("./parse-config.js");
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
