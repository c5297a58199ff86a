import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endOfDay } from "../../src/mail/date-range.js";
import { type MailQuery, type MailSearch, openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { addressId, BEN, CAT, DAN, idsOf, mail, openCorpus, query, withAllWords } from "./small-corpus.js";

const CUTOFF = endOfDay("2001-05-14");
/** Every word that could be misread as syntax. Other people's mail mentions every mailbox. */
const NAMES = [1, 2, 3, 4].map((id) => `in${id} from${id} to${id}`).join(" ");
const TEXT = `AND OR NOT NEAR subject body parties ${NAMES} what's Q3-budget 5 a@b * ^ - the gas 🙂 café \ud83d x`;
let db: Db;
let search: MailSearch;
let ofBen: MailQuery;
beforeAll(() => {
  db = openCorpus([
    mail("visible", { subject: TEXT, body: TEXT }),
    mail("last-second", { body: `${TEXT} .`, date: "2001-05-14T23:59:59Z" }),
    mail("too-late", { subject: TEXT, body: TEXT, date: "2001-05-15T00:00:00Z" }),
    mail("undated", { subject: TEXT, body: TEXT, date: null }),
    mail("of-others", { subject: TEXT, body: TEXT, sender: CAT, to: [DAN] }),
  ]);
  search = openMailSearch(db);
  ofBen = query("", { inboxId: addressId(db, BEN), period: { after: null, before: CUTOFF }, limit: 50 });
});
afterAll(() => db.close());

/** The results of both search orders. Fails if they contain other people's mail, or mail after the cutoff. */
function askBoth(words: string): string[] {
  const asked = { ...ofBen, words };
  const best = search.bestFirst(asked);
  const found = [...withAllWords(search, asked), ...best.hits];
  expect(["visible", "last-second"]).toEqual(expect.arrayContaining(idsOf(found)));
  expect(best.total).toBeGreaterThanOrEqual(best.hits.length);
  for (const { match } of best.hits) expect(["all_words", "best_match"]).toContain(match);
  return idsOf(found);
}

const HOSTILE = [
  "",
  " ",
  '"',
  '""',
  '"""',
  '" "',
  '"gas',
  'gas"',
  '"gas" "the',
  "AND",
  "OR",
  "NOT",
  "NEAR",
  "gas AND",
  "NOT gas",
  "gas OR",
  "NEAR(gas the)",
  "NEAR(gas the, 5",
  "NEAR/3",
  "*",
  "gas*",
  '"gas"*',
  "**",
  "^gas",
  "^",
  "-gas",
  "- gas",
  "-",
  "+gas",
  "gas + the",
  "subject:gas",
  "subject : gas",
  "-subject:gas",
  "{subject body}:gas",
  "{subject body parties} : in2",
  "parties:in2",
  "parties : in2",
  "in1 OR in2 OR in3 OR in4",
  'x" OR parties : "in3',
  '") OR (parties : in3',
  ') OR {parties} : ("in3"',
  "rowid:1",
  "rank",
  "col:x",
  "nocolumn:gas",
  "what's",
  "what''s",
  "' OR 1=1 --",
  "'; DROP TABLE mails; --",
  "Q3-budget",
  "$5",
  "5%",
  "a@b",
  "<1@plains.example>",
  "🙂",
  "🙂🙂 gas",
  "café",
  "CAFÉ",
  "gas\0the",
  "\0",
  '"gas\0',
  "\ud83d",
  "\ude42",
  "\ude42\ud83d",
  '"\ud83d"',
  "\ufeffgas",
  "\u202egas",
  "İ",
  "ſ",
  "K",
  "!?.,;:()[]{}",
  "\\",
  '\\"',
  "(",
  ")",
  "((((((",
  "?",
  "?1",
  ":words",
  "@words",
  "`",
  "|",
  "\n",
  "gas\r\nthe",
  "constructor",
  "__proto__",
  "toString hasOwnProperty",
  "x".repeat(100_000),
  "🙂".repeat(50_000),
  '"'.repeat(100_000),
  "(".repeat(100_000),
  "gas ".repeat(50_000),
  `"${"gas ".repeat(50_000)}"`,
  "gas-".repeat(50_000),
  "OR ".repeat(10_000),
  Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(" "),
  `"${Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(" ")}"`,
  Array.from({ length: 20_000 }, (_, i) => `w${i}`).join("-"),
] as const;

const short = (words: string) => (words.length > 40 ? `${words.slice(0, 40)}… (${words.length})` : words);

describe("a search with a hostile query", () => {
  test.each(HOSTILE.map((words) => [JSON.stringify(short(words)), words] as const))(
    "neither fails nor reveals other people's mail or later mail if the query is %s",
    (_, words) => {
      askBoth(words);
    },
  );

  test("neither fails nor reveals other people's mail or later mail for any of 1,000 random strings", () => {
    const syntax = fc.constantFrom(
      '"',
      "AND",
      "OR",
      "NOT",
      "NEAR(",
      "*",
      "^",
      "-",
      ":",
      "(",
      ")",
      "{",
      "}",
      "+",
      "\0",
      " ",
    );
    const piece = fc.oneof(
      { weight: 3, arbitrary: syntax },
      { weight: 2, arbitrary: fc.constantFrom("gas", "the", "subject", "parties", "in3", "what's", "🙂", "café") },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
      // Halves of surrogate pairs, alone or together.
      { weight: 1, arbitrary: fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)) },
    );
    const hostile = fc
      .tuple(fc.array(piece, { maxLength: 12 }), fc.constantFrom("", " "))
      .map(([all, by]) => all.join(by));
    let found = 0;
    fc.assert(
      fc.property(hostile, (words) => {
        if (askBoth(words).length > 0) found++;
      }),
      { seed: 5, numRuns: 1_000 },
    );
    expect(found).toBeGreaterThan(300);
  });
});

describe("a search for special characters", () => {
  test.each([
    ["an operator", "AND"],
    ["another", "OR NOT"],
    ["a column name", "subject:gas"],
    ["a mailbox term", "parties in1"],
    ["a word with an apostrophe", "what's"],
    ["words joined by punctuation", "Q3-budget"],
    ["a sum", "$5"],
    ["an address", "a@b"],
    ["an emoji", "🙂"],
    ["non-ASCII letters", "café"],
    ["a prefix", "gas*"],
    ["an unclosed quote", '"gas'],
    ["two words with a NUL between them", "gas\0🙂"],
  ])("finds %s", (_, words) => {
    const hits = withAllWords(search, { ...ofBen, words });
    expect(idsOf(hits)).toEqual(["last-second", "visible"]);
  });

  test.each(["", " "])("lists all emails for the query %j", (words) => {
    expect(search.bestFirst({ ...ofBen, words }).hits.map(({ messageId }) => messageId)).toEqual([
      "<last-second@plains.example>",
      "<visible@plains.example>",
    ]);
  });

  test.each(["*", '""', "!?", "\0"])("finds nothing for %j, which contains no word", (words) => {
    expect(withAllWords(search, { ...ofBen, words })).toEqual([]);
    expect(search.bestFirst({ ...ofBen, words })).toEqual({ hits: [], total: 0 });
  });

  test("keeps the index terms for mailboxes separate from the words of an email", () => {
    const plain = openCorpus([mail("1", { body: "gas" })]);
    const words = openMailSearch(plain);
    expect(withAllWords(words, query("in1"))).toEqual([]);
    expect(words.bestFirst(query("in1 from1 to2"))).toEqual({ hits: [], total: 0 });
    // The stemmer treats these words as equal.
    for (const word of ["in1s", "from1s", "to2s", "IN1", '"in1 from1"', "in1s gas"]) {
      expect(withAllWords(words, query(word))).toEqual([]);
      expect(words.bestFirst(query(word)).hits.filter((hit) => hit.match === "all_words")).toEqual([]);
    }
    expect(words.bestFirst(query("in1s")).hits).toEqual([]);
    plain.close();
  });

  test("does not add an email to the mailboxes that its text mentions", () => {
    for (const words of ["in1", "gas", "in2 OR in3"]) {
      const asked = { ...query(words), inboxId: addressId(db, DAN), limit: 50 };
      expect(idsOf(withAllWords(search, { ...asked, words: "gas" }))).toEqual(["of-others"]);
      expect(idsOf(search.bestFirst(asked).hits)).toEqual(["of-others"]);
      const from = { ...query(words), fromIds: [addressId(db, CAT)], limit: 50 };
      expect(idsOf(search.bestFirst(from).hits)).toEqual(["of-others"]);
    }
  });
});

describe("a search with a very long query", () => {
  const MILLION = 1_000_000;
  test.each([
    ["words", Array.from({ length: MILLION }, (_, i) => `w${i}`).join(" ")],
    ["a million words in one phrase", `"${"gas ".repeat(MILLION)}"`],
    ["words joined by marks", "gas-".repeat(MILLION)],
    ["quotes", '"'.repeat(MILLION)],
    ["one word", "x".repeat(MILLION)],
  ])("ends in time (%s)", { timeout: 30_000 }, (_, words) => {
    withAllWords(search, { ...ofBen, words });
    search.bestFirst({ ...ofBen, words });
  });
});
