import { existsSync } from "node:fs";
import { type Db, openStore } from "../../store/connection/open-store.js";
import type { AppSettings } from "../use-case-context.js";

/** Reads the registry. Without a database, one in memory shows the agents and tools of a new database. */
export async function readRegistry<T>(settings: AppSettings, read: (db: Db) => T | Promise<T>): Promise<T> {
  const db = existsSync(settings.db)
    ? openStore(settings.db, { mustExist: true })
    : openStore(":memory:", { mustExist: false });
  return useAndClose(db, read);
}

/** Changes the registry; creates the database where there is none. */
export async function changeRegistry<T>(settings: AppSettings, change: (db: Db) => T | Promise<T>): Promise<T> {
  return useAndClose(openStore(settings.db, { mustExist: false }), change);
}

async function useAndClose<T>(db: Db, use: (db: Db) => T | Promise<T>): Promise<T> {
  try {
    return await use(db);
  } finally {
    db.close();
  }
}
