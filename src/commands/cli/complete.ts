import { knownAgentIds, knownRunIds } from "../../app/database/shell-completion-ids.js";
import { readEnvironment } from "../../app/settings/env-file.js";
import { EXIT, type ExitCode } from "../../domain/errors.js";
import { configuredDatabase } from "../config/configured-database.js";
import { COMMANDS } from "./command-table.js";
import { completeWords } from "./complete-words.js";
import { GLOBAL_FLAGS } from "./global-flags.js";
import { readSettings } from "./settings.js";

/** Prints what the last word may become, one a line. */
export async function complete(words: readonly string[]): Promise<ExitCode> {
  const at = words.indexOf("--db");
  const argv = { db: at === -1 ? undefined : words[at + 1] || undefined };
  const env = readEnvironment();
  const { db } = readSettings(argv, env, await configuredDatabase(argv, env));
  const values = { agents: () => knownAgentIds(db), runs: () => knownRunIds(db) };
  for (const word of await completeWords(words, COMMANDS, GLOBAL_FLAGS, values)) process.stdout.write(`${word}\n`);
  return EXIT.done;
}
