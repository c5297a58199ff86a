import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../../domain/errors.js";
import { flagName } from "../../platform/flag-name.js";
import type { CommandContext } from "../cli/command.js";
import { readText } from "../cli/read-text.js";
import type { SectionName } from "./config-sections.js";
import type { ConfigSetting } from "./parse-config.js";

export const CONFIG_NAME = "art-e.yaml";

/** A command line together with the config file. */
export interface ConfiguredFlags {
  /** The flags, and the file's values for those that were not given. */
  readonly argv: Readonly<Record<string, unknown>>;
  /** Null: there is no file. */
  readonly path: string | null;
  readonly used: readonly ConfigSetting[];
}

/**
 * Adds the settings of a config file to the flags: of the one that `--config` names, else of art-e.yaml in the working
 * folder or beside the database. `sections`: those that the command reads. Throws a UserError for a file that is wrong.
 */
export async function readConfig(
  argv: Readonly<Record<string, unknown>>,
  { settings, note }: CommandContext,
  sections?: readonly SectionName[],
): Promise<ConfiguredFlags> {
  const named = typeof argv.config === "string" ? argv.config : null;
  const path = named ?? findConfig(settings.db);
  if (path === null || named === "off") return { argv, path: null, used: [] };
  const text = readText(path, named === null ? CONFIG_NAME : "--config");
  // Loaded only where there is a file.
  const [{ parseConfig }, { mergeConfig }, { refuseUntrusted }] = await Promise.all([
    import("./parse-config.js"),
    import("./merge-config.js"),
    import("./refuse-untrusted.js"),
  ]);
  const all = parseConfig(text, path);
  const read = sections === undefined ? all : all.filter(({ section }) => sections.some((name) => name === section));
  const { used, replaced } = mergeConfig(argv, read);
  if (named === null) refuseUntrusted(used, path);
  if (used.length > 0) note(`Settings of ${path}: ${namesOf(used)}.${leftOut(replaced)}`);
  const values = Object.fromEntries(used.map(({ flag, value }) => [flag, value]));
  return { argv: { ...argv, ...values }, path, used };
}

function findConfig(db: string): string | null {
  const candidates = [CONFIG_NAME, join(dirname(db), CONFIG_NAME)];
  return candidates.find((path) => existsSync(path)) ?? null;
}

const namesOf = (settings: readonly ConfigSetting[]) => settings.map(({ name }) => name).join(", ");

function leftOut(replaced: readonly ConfigSetting[]): string {
  return replaced.length === 0 ? "" : ` The command line replaces ${namesOf(replaced)}.`;
}

/** An error about flags that were not typed, with where in the file they stand; any other error unchanged. */
export function explainConfigured(error: unknown, { path, used }: ConfiguredFlags): unknown {
  if (!(error instanceof UserError)) return error;
  const meant = used.filter(({ flag }) => new RegExp(`${flagName(flag)}(?![\\w-])`).test(error.message));
  if (meant.length === 0) return error;
  const origins = meant.map(({ flag, name, line }) => `${flagName(flag)} is ${name} at ${path}:${line}.`).join(" ");
  return new UserError(error.code, error.message, `${error.hint} ${origins}`, error.exitCode, { cause: error });
}
