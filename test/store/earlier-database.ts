import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../../src/store/sqlite.js";

/** A database file with only the first migrations of this version, like a file of an earlier release. */

const SQL = join(import.meta.dirname, "../../sql");

/** Creates the file and returns its open connection. */
export function createEarlierFile(path: string, migrations: number): InstanceType<typeof Database> {
  const db = new Database(path);
  db.pragma("application_id = 0x61727465");
  db.exec("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT, sha256 TEXT, applied_at TEXT)");
  for (const name of readdirSync(SQL).sort().slice(0, migrations)) {
    const sql = readFileSync(join(SQL, name), "utf8");
    db.exec(sql);
    const sha256 = createHash("sha256").update(sql).digest("hex");
    db.prepare("INSERT INTO migrations (name, sha256) VALUES (?, ?)").run(name, sha256);
  }
  db.pragma(`user_version = ${migrations}`);
  return db;
}
