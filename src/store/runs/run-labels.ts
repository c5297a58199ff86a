import type { Db } from "../connection/open-store.js";

/** Null takes the name away. Throws SQLite's error where another run has it. */
export function setRunName(db: Db, id: string, name: string | null): void {
  db.prepare("UPDATE runs SET name = ? WHERE id = ?").run(name, id);
}

/** The id of the run of that name; null: none has it. */
export function runOfName(db: Db, name: string): string | null {
  return (db.prepare("SELECT id FROM runs WHERE name = ?").pluck().get(name) as string | undefined) ?? null;
}

/** Null takes the note away. */
export function setRunNote(db: Db, id: string, note: string | null): void {
  db.prepare("UPDATE runs SET note = ? WHERE id = ?").run(note, id);
}

export function addRunTags(db: Db, id: string, tags: readonly string[]): void {
  const add = db.prepare("INSERT OR IGNORE INTO run_tags (run_id, tag) VALUES (?, ?)");
  for (const tag of tags) add.run(id, tag);
}

export function removeRunTags(db: Db, id: string, tags: readonly string[]): void {
  const remove = db.prepare("DELETE FROM run_tags WHERE run_id = ? AND tag = ?");
  for (const tag of tags) remove.run(id, tag);
}
