import type { Db } from "../connection/open-store.js";

/** In more mails than this a word counts as common, and is not counted further. */
const COMMON = 1_000;

/** Counts the mails that hold a word, in any of its forms, up to `COMMON`. */
export function wordFrequency(db: Db): (word: string) => number {
  const [newer, older] = (["emails_fts", "emails_fts_older"] as const).map((table) =>
    db.prepare(`SELECT count(*) FROM (SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT ?)`).pluck(),
  );
  return (word) => {
    const term = `"${word.replaceAll('"', "")}"`;
    const mails = newer?.get(term, COMMON) as number;
    return mails + (older?.get(term, COMMON - mails) as number);
  };
}
