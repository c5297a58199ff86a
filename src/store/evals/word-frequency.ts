import type { Db } from "../connection/open-store.js";

/** In more mails than this a word counts as common, and is not counted further. */
const COMMON = 1_000;

/** Counts the mails that hold a word, in any of its forms, up to `COMMON`. */
export function wordFrequency(db: Db): (word: string) => number {
  const count = db
    .prepare(`SELECT count(*) FROM (SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? LIMIT ${COMMON})`)
    .pluck();
  return (word) => count.get(`"${word.replaceAll('"', "")}"`) as number;
}
