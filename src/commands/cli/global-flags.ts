import type { Flags } from "./command.js";
import { DEFAULT_CACHE_DIR, DEFAULT_DB } from "./settings.js";

/** The flags that every command takes. */
export const GLOBAL_FLAGS: Flags = {
  db: { type: "string", requiresArg: true, describe: `The database [ART_E_DB, art-e.yaml, default: ${DEFAULT_DB}]` },
  "cache-dir": {
    type: "string",
    requiresArg: true,
    describe: `For downloads [ART_E_CACHE_DIR, default: ${DEFAULT_CACHE_DIR}]`,
  },
  json: { type: "boolean", describe: "Results as JSON on stdout, and nothing else there" },
  quiet: { type: "boolean", describe: "No progress and no notes" },
  "no-progress": { type: "boolean", describe: "No progress" },
  verbose: { type: "boolean", describe: "Errors with their stack" },
};
