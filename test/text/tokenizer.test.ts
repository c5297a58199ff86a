import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { termMatcher } from "../../src/mail/search/matches.js";
import { openMailSearch } from "../../src/mail/search.js";
import { Database } from "../../src/store/sqlite.js";
import { plainLetters, withoutUmlauts } from "../../src/text/plain-letters.js";
import { stemOf } from "../../src/text/porter.js";
import { foldText } from "../../src/text/tokenizer.js";
import { idsOf, mail, openCorpus, query, withAllWords } from "../mail/small-corpus.js";
import { askFts5, writeTable } from "./unicode61-table.js";

/** Compares our word splitting with FTS5's, as used by the index. */

const ROOT = join(import.meta.dirname, "../..");

/** The tokenizer of the newest index in `sql/`. */
function indexTokenizer(): string {
  const db = openCorpus([]);
  const sql = db.prepare("SELECT sql FROM sqlite_master WHERE name = 'emails_fts'").pluck().get() as string;
  db.close();
  return /tokenize = ('[^']+')/.exec(sql)?.[1] ?? "";
}

/** Stems of each text, in order, one character per byte: FTS5's and ours. */
function stems(texts: readonly string[]): { fts5: string[][]; ours: string[][] } {
  const db = new Database(":memory:");
  db.exec(
    `CREATE VIRTUAL TABLE f USING fts5(t, tokenize = ${indexTokenizer()}); CREATE VIRTUAL TABLE v USING fts5vocab(f, instance)`,
  );
  const add = db.prepare("INSERT INTO f (rowid, t) VALUES (?, ?)");
  texts.forEach((text, i) => {
    add.run(BigInt(i), text);
  });
  const fts5: string[][] = texts.map(() => []);
  const rows = db.prepare('SELECT CAST(term AS BLOB), doc, "offset" FROM v').raw().all() as [Buffer, number, number][];
  for (const [term, doc, offset] of rows) (fts5[doc] ?? [])[offset] = term.toString("latin1");
  db.close();
  const ours = texts.map((text) => (foldText(text).text.match(/[a-z0-9\u0080-\uffff]+/g) ?? []).map(stemOf));
  return { fts5, ours };
}

test("the index's tokenizer supports Unicode and stems", () => {
  expect(indexTokenizer()).toBe("'porter unicode61 remove_diacritics 2'");
});

test("the character table matches FTS5 for every character", { timeout: 180_000 }, () => {
  const file = join(ROOT, "src/text/unicode61.json");
  const asked = writeTable(askFts5());
  // If SQLite's next version differs, write this file again, and add a migration that rebuilds the index.
  expect(readFileSync(file, "utf8") === asked).toBe(true);
});

const ENDINGS =
  "s es ed ing ly er y ies al ic able ibility ance ation ational ize izer ator iveness ful ousness ement ion eed ll e bli logi".split(
    " ",
  );
const letter = fc.constantFrom(..."aeiouybdlnstwxz07", ..."éÜøßжЖİſ\u212a쀀漢が𝐀𐐀ﬁ", "e\u0301", "\u0308");
const word = fc
  .tuple(fc.string({ unit: letter, minLength: 1, maxLength: 6 }), fc.constantFrom("", "", ...ENDINGS))
  .map((parts) => parts.join(""));
const between = fc.constantFrom(
  " ",
  "\n",
  "-",
  "–",
  "—",
  "’",
  "“",
  "”",
  "…",
  "\u00a0",
  "\u200b",
  "·",
  "\u0301",
  "🙂",
  "_",
);
const text = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.tuple(word, between).map((parts) => parts.join("")) },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit)) },
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join("").replaceAll("\0", ""));

describe("the words of a text", () => {
  test("get the same stems as in FTS5, for 5,000 random texts", () => {
    const texts = fc.sample(text, { numRuns: 5_000, seed: 12 });
    const { fts5, ours } = stems(texts);
    const wrong = texts.flatMap((one, i) => (`${ours[i]}` === `${fts5[i]}` ? [] : [[one, ours[i], fts5[i]]]));
    expect(wrong).toEqual([]);
    expect(fts5.flat().length).toBeGreaterThan(15_000);
  });

  test("stay within FTS5's limits for stemming and truncating", () => {
    const long = [61, 62, 63, 64, 65, 66].flatMap((n) =>
      ["s", "ing", "ed"].map((end) => "a".repeat(n - end.length) + end),
    );
    const cyrillic = [31, 32, 33].flatMap((n) => [`${"ж".repeat(n)}s`, `а${"ж".repeat(n)}`]);
    const huge = ["x".repeat(40_000), `${"x".repeat(32_768)}y`];
    const { fts5, ours } = stems([...long, ...cyrillic, ...huge]);
    expect(ours).toEqual(fts5);
  });

  test("each find the same emails in the index and in the text", () => {
    const texts = fc.sample(text, { numRuns: 300, seed: 13 });
    const db = openCorpus(texts.map((body, i) => mail(`${i}`, { body })));
    const search = openMailSearch(db);
    const asked = [...new Set(texts.flatMap((one) => one.match(/[\p{L}\p{N}]+/gu) ?? []))].filter(
      (_, i) => i % 5 === 0,
    );
    const wrong = asked.flatMap((one) => {
      const found = new Set(idsOf(withAllWords(search, query(one))));
      const terms = foldText(one).text.match(/\S+/g) ?? [];
      if (terms.length !== 1 || /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}]/u.test(one)) return [];
      const find = termMatcher([one]);
      const isRight = (body: string, i: number) => {
        const isInText = find(body).length > 0;
        // The index also contains the plain spelling of words with unusual letters.
        const hasOtherSpellings = [one, body].some((each) => plainLetters(each) !== each || withoutUmlauts(each)[0]);
        return hasOtherSpellings ? found.has(`${i}`) || !isInText : found.has(`${i}`) === isInText;
      };
      return texts.flatMap((body, i) => (isRight(body, i) ? [] : [[one, body]]));
    });
    expect(wrong).toEqual([]);
    expect(asked.length).toBeGreaterThan(200);
    db.close();
  });
});

describe("a search of mail in living languages", () => {
  const bodies = {
    quotes: "“Bid/ask” — the trader’s ‘ask’…",
    dash: "bid–ask",
    umlaut: "Grüße an Müller",
    accent: "at the cafe\u0301",
    cyrillic: "Встреча: МОСКВА",
    japanese: "来週の会議室を予約しました。Q3予算2002年",
    chinese: "明天下午三点开会",
    korean: "회의는 내일입니다",
    thai: "การประชุมพรุ่งนี้",
  };
  const db = openCorpus(Object.entries(bodies).map(([name, body]) => mail(name, { body })));
  const search = openMailSearch(db);

  test.each([
    ["ask", ["quotes", "dash"]],
    ["trader", ["quotes"]],
    ["bid-ask", ["quotes", "dash"]],
    ["muller", ["umlaut"]],
    ["MÜLLER", ["umlaut"]],
    ["café", ["accent"]],
    ["cafe", ["accent"]],
    ["москва", ["cyrillic"]],
    ["会議", ["japanese"]],
    ["会議室", ["japanese"]],
    ["議会", []],
    ["予", ["japanese"]],
    ["年", ["japanese"]],
    ["2002", ["japanese"]],
    ["q3", ["japanese"]],
    ["Q3予算", ["japanese"]],
    ["予算2002年", ["japanese"]],
    ["算2003", []],
    ["开会", ["chinese"]],
    ["开 会", ["chinese"]],
    ["회의", ["korean"]],
    ["ประชุม", ["thai"]],
  ])("finds in the language %s the email for %j", (words, names) => {
    const asked = query(words, { limit: 20 });
    expect(idsOf(withAllWords(search, asked)).sort()).toEqual([...names].sort());
  });

  test("finds a Japanese email by the bigrams of an entire question", () => {
    const [first] = search.bestFirst(query("会議室の予約はいつですか")).hits;
    expect(first).toMatchObject({ messageId: "<japanese@plains.example>", match: "best_match" });
  });

  test("uses bigrams, plain spellings and stems, which are stored only for mail in such scripts", () => {
    const stored = db.prepare("SELECT bigrams FROM mail_bigrams JOIN messages USING (mail_id) ORDER BY message_id");
    expect(stored.pluck().all()).toHaveLength(6);
    expect(stored.pluck().all().at(-1)).toBe("grusse gruesse mueller");
  });
});
