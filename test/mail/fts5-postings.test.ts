import { afterAll, describe, expect, it } from "vitest";
import { openFts5Postings } from "../../src/mail/search/fts5-postings.js";
import { DamagedRowError } from "../../src/store/damaged-row.js";
import { Database } from "../../src/store/sqlite.js";
import { stemOf } from "../../src/text/porter.js";
import { below, seeded } from "../random.js";

/** Compares posting lists with SQLite's own (fts5vocab). */

const WORDS = ["gas", "price", "prices", "meeting", "zebra", "naïve", "café", "x".repeat(300), "a", "ab", "abc"];

function openIndex({ rows, pageBytes, merged }: { rows: number; pageBytes: number; merged: boolean }) {
  const db = new Database(":memory:");
  db.exec(`
    CREATE VIRTUAL TABLE f USING fts5(subject, body, tokenize = 'porter unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE v USING fts5vocab(f, instance);
    INSERT INTO f (f, rank) VALUES ('pgsz', ${pageBytes}), ('automerge', 0), ('crisismerge', 1999);
  `);
  const random = seeded(3);
  const text = (most: number) => Array.from({ length: below(random, most) }, () => WORDS[below(random, 11)]).join(" ");
  const add = db.prepare("INSERT INTO f (rowid, subject, body) VALUES (CAST(? AS INTEGER), ?, ?)");
  let rowid = 0;
  for (let i = 0; i < rows; i++) {
    rowid += 1 + below(random, i % 50 === 0 ? 40_000 : 3);
    // A long body has position lists of more than one page.
    add.run(rowid, text(4), i % 40 === 0 ? text(3_000) : text(20));
  }
  if (merged) db.exec("INSERT INTO f (f) VALUES ('optimize')");
  return { db, lastRowid: rowid };
}

describe("openFts5Postings on a damaged index", () => {
  const damaged: readonly [string, string][] = [
    ["without its structure record", "DELETE FROM f_data WHERE id = 10"],
    [
      "with a structure record of endless levels",
      "UPDATE f_data SET block = x'00000000ffffffffffffff7f0000' WHERE id = 10",
    ],
    ["with endless segments", "UPDATE f_data SET block = x'0000000001010000ffffffff7f' WHERE id = 10"],
    ["with short pages", "UPDATE f_data SET block = x'00' WHERE id > 10"],
    ["with text in place of its pages", "UPDATE f_data SET block = 'text' WHERE id > 10"],
    ["with terms longer than a page", "UPDATE f_data SET block = x'000000084000ffff7f004007' WHERE id > 10"],
  ];

  it.each(damaged)("throws an error that names the damaged record (%s)", (_, sql) => {
    const { db } = openIndex({ rows: 50, pageBytes: 4050, merged: true });
    db.unsafeMode();
    db.exec(sql);
    expect(() => openFts5Postings(db, "f").read("gas", { has: () => true })).toThrow(DamagedRowError);
    db.close();
  });
});

describe.each([
  { rows: 1, pageBytes: 4050, merged: true },
  { rows: 2_000, pageBytes: 4050, merged: true },
  { rows: 600, pageBytes: 64, merged: true },
  { rows: 60, pageBytes: 4050, merged: false },
])("openFts5Postings on words indexed with %j", (shape) => {
  const { db, lastRowid } = openIndex(shape);
  afterAll(() => db.close());
  const postings = openFts5Postings(db, "f");
  const rowsOf = (word: string, column: string | null) =>
    db
      .prepare(
        `SELECT doc, count(*) FROM v WHERE term = CAST(? AS TEXT) AND (? IS NULL OR col = ?) GROUP BY doc ORDER BY doc`,
      )
      .raw()
      .all(Buffer.from(stemOf(word), "latin1"), column, column) as [number, number][];
  const read = (word: string, has: (rowid: number) => boolean, column: number | null) => {
    const { rowids, counts } = postings.read(word, { has }, column);
    return [...rowids].map((rowid, i) => [rowid, counts[i]]);
  };
  const folded = WORDS.map((word) => word.normalize("NFD").replace(/[\u0300-\u036f]/g, ""));

  it.each(folded.map((word) => [word.slice(0, 20), word]))("reads the rows and counts of %s", (_, word) => {
    expect(read(word, () => true, null)).toEqual(rowsOf(word, null));
    expect(read(word, () => true, 0)).toEqual(rowsOf(word, "subject"));
    expect(read(word, () => true, 1)).toEqual(rowsOf(word, "body"));
    const isOdd = (rowid: number) => rowid % 2 === 1;
    expect(read(word, isOdd, null)).toEqual(rowsOf(word, null).filter(([rowid]) => isOdd(rowid)));
    expect(read(word, (rowid) => rowid > lastRowid, null)).toEqual([]);
  });

  it.each(["", "b", "gasoline", "zz", "0"])("returns empty lists for %j", (word) => {
    expect(read(word, () => true, null)).toEqual([]);
  });
});
