import { existsSync } from "node:fs";
import { listAgentIds } from "../agents/registry-store.js";
import { readEnvironment } from "../platform/environment.js";
import { EXIT, type ExitCode } from "../platform/errors.js";
import { type Db, withReadOnly } from "../store/open-store.js";
import { newestRunIds } from "../traces/runs-store.js";
import { completeWords, GLOBAL_FLAGS } from "./command.js";
import { COMMANDS } from "./command-table.js";
import { configuredDatabase } from "./open-config.js";
import { readSettings } from "./terminal.js";

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

/** How many runs a shell offers. */
const OFFERED_RUNS = 50;

const knownAgentIds = (path: string) => read(path, listAgentIds);

const knownRunIds = (path: string) => read(path, (db) => ["latest", ...newestRunIds(db, OFFERED_RUNS)]);

/** Nothing where there is no database, or one that cannot be read: a shell shows no errors while a word is typed. */
function read(path: string, ids: (db: Db) => string[]): string[] {
  if (!existsSync(path)) return [];
  try {
    return withReadOnly(path, ids);
  } catch {
    return [];
  }
}
