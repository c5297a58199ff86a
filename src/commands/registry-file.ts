import { existsSync } from "node:fs";
import { type Db, openStore } from "../store/open.js";
import type { Settings } from "./settings.js";

/** The database for looking at the registry: where there is none yet, one in memory shows what a new one holds. */
export function openRegistry(settings: Settings): Db {
  return existsSync(settings.db)
    ? openStore(settings.db, { mustExist: true })
    : openStore(":memory:", { mustExist: false });
}
