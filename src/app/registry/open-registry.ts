import { existsSync } from "node:fs";
import { type Db, openStore } from "../../store/connection/open-store.js";
import type { Settings } from "../settings/settings.js";

/** The database for looking at the registry: where there is none yet, one in memory shows what a new one holds. */
/** The database for changing the registry; made where there is none. */
export function openRegistryToChange(settings: Settings): Db {
  return openStore(settings.db, { mustExist: false });
}

export function openRegistry(settings: Settings): Db {
  return existsSync(settings.db)
    ? openStore(settings.db, { mustExist: true })
    : openStore(":memory:", { mustExist: false });
}
