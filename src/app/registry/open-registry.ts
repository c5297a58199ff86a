import { existsSync } from "node:fs";
import { type Db, openStore } from "../../store/connection/open-store.js";
import type { AppSettings } from "../context.js";

/** The database for changing the registry; created where there is none. */
export function openRegistryToChange(settings: AppSettings): Db {
  return openStore(settings.db, { mustExist: false });
}

/** The database for reading the registry. Where there is none yet, one in memory shows what a new one would hold. */
export function openRegistry(settings: AppSettings): Db {
  return existsSync(settings.db)
    ? openStore(settings.db, { mustExist: true })
    : openStore(":memory:", { mustExist: false });
}
