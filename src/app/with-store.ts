import { type Db, openStore } from "../store/connection/open-store.js";
import type { AppSettings } from "./use-case-context.js";

/** Opens the database, which must exist, for the length of `use`. */
export async function withStore<T>({ db: path }: AppSettings, use: (db: Db) => T | Promise<T>): Promise<T> {
  const db = openStore(path, { mustExist: true });
  try {
    return await use(db);
  } finally {
    db.close();
  }
}
