import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openAddressBook } from "../../src/mail/address-book.js";
import { mergePostings, within } from "../../src/mail/search/ranking.js";
import { namedMonths, recencyRaise } from "../../src/mail/search/signals.js";
import { type MailHit, openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { ENRON, needs } from "../machine-requirements.js";
import { importFolder, importFrom } from "./import-setup.js";
import { ANN, addressId, BEN, idsOf, mail, openCorpus, query } from "./small-corpus.js";

describe("mergePostings", () => {
  const list = (counts: Readonly<Record<number, number>>) => ({
    rowids: Int32Array.from(Object.keys(counts).map(Number)),
    counts: Uint16Array.from(Object.values(counts)),
  });

  it.each([
    ["disjoint lists", { 1: 2, 5: 1 }, { 3: 4 }, { 1: 2, 3: 4, 5: 1 }],
    ["lists that overlap at their ends", { 1: 2, 5: 1 }, { 1: 3, 5: 4 }, { 1: 5, 5: 5 }],
    ["a list with itself", { 7: 1, 8: 2 }, { 7: 1, 8: 2 }, { 7: 2, 8: 4 }],
    ["a list with an empty one", { 2: 1 }, {}, { 2: 1 }],
    ["an empty list with another", {}, { 2: 1 }, { 2: 1 }],
  ])("adds the counts of %s", (_, a, b, expected) => {
    expect(mergePostings(list(a), list(b))).toEqual(list(expected));
  });

  it("combines counts as requested, with 0 for a missing row", () => {
    expect(mergePostings(list({ 1: 2, 5: 1 }), list({ 1: 3, 6: 4 }), Math.max)).toEqual(list({ 1: 3, 5: 1, 6: 4 }));
  });
});

describe("within", () => {
  it("returns the positions from the first to the last, both included", () => {
    const positions = Int32Array.of(1, 3, 5, 7);
    expect([...within(positions, { first: 3, last: 5 })]).toEqual([3, 5]);
    expect([...within(positions, { first: 4, last: 4 })]).toEqual([]);
    expect([...within(positions, { first: 0, last: 9 })]).toEqual([1, 3, 5, 7]);
  });
});

describe("namedMonths", () => {
  const periods = (words: string) => namedMonths(words, [2001, 2000]).map(({ period }) => period.after?.slice(0, 7));

  it.each([
    ["the draft of September 2000", ["2000-09"]],
    ["the gas of 8/27", ["2001-08", "2000-08"]],
    ["the gas of 27 August 1999", ["1999-08"]],
    ["losses in july", ["2001-07", "2000-07"]],
    ["losses between January and Feb", ["2001-01", "2000-01", "2001-02", "2000-02"]],
    ["losses in May", ["2001-05", "2000-05"]],
    ["losses in December 2000", ["2000-12"]],
    ["May I go?", []],
    ["what may come", []],
    ["the long march", []],
    ["a decent marble", []],
    ["gas 4500", []],
  ])("finds in %j the months %j", (words, months) => expect(periods(words)).toEqual(months));

  it("ends a month at the start of the next, even at the end of a year", () => {
    expect(namedMonths("in December 2000", [])[0]?.period).toEqual({
      after: "2000-12-01T00:00:00Z",
      before: "2001-01-01T00:00:00Z",
    });
  });

  it("returns the name and the year of the month as its words", () => {
    expect([...(namedMonths("September 2000", [])[0]?.words ?? [])]).toEqual(["2000", "september", "sep", "sept"]);
  });
});

describe("recencyRaise", () => {
  const DAY = 86_400;
  it.each([
    [0, 0.8],
    [60, 0.8 / Math.E],
    [-5, 0.8],
    [Number.NaN, 0],
  ])("returns for an email sent %s days before the question the raise %s", (days, raise) =>
    expect(recencyRaise(1_000 * DAY, (1_000 - days) * DAY)).toBeCloseTo(raise, 10),
  );
});

describe("ranked emails", () => {
  const db = openCorpus([
    mail("june", { subject: "gas", body: "the price of gas is $4.10", date: "2001-06-10T09:00:00Z", to: [BEN] }),
    mail("july", { subject: "gas", body: "the price of gas is $4.20", date: "2001-07-10T09:00:00Z", to: [BEN] }),
    mail("reply", { subject: "Re: power", body: "-----Original Message-----\ngas", date: "2001-07-11T09:00:00Z" }),
    mail("kay", { body: "nothing", sender: "kay.mann@hills.example", date: "2001-05-11T09:00:00Z" }),
  ]);
  afterAll(() => db.close());
  const search = openMailSearch(db);
  const ask = (words: string, askedAt: string | null = null) =>
    query(words, { inboxId: addressId(db, BEN), askedAt, limit: 9 });
  const best = (words: string, askedAt: string | null = null) => idsOf(search.bestFirst(ask(words, askedAt)).hits);

  it("come first if they are from a month that the question names", () => {
    expect(best("gas price").slice(0, 2)).toEqual(["july", "june"]);
    expect(best("gas price in June").slice(0, 2)).toEqual(["june", "july"]);
  });

  it("can be from a named month of the newest year or of the 50 years before", () => {
    const dates = ["2001-07-10", "2000-06-10", "1951-06-10", "1950-06-10"];
    const other = openCorpus(dates.map((day) => mail(day, { body: "gas", date: `${day}T09:00:00Z` })));
    const { hits } = openMailSearch(other).explainBestFirst(query("gas in June"));
    expect(hits.map((hit) => [...idsOf([hit]), hit.explanation.raises.namedMonth])).toEqual([
      ["2000-06-10", 0.5],
      ["1951-06-10", 0.5],
      ["2001-07-10", 0],
      ["1950-06-10", 0],
    ]);
    other.close();
  });

  it("have snippets with words from the first 60,000 characters of their bodies", () => {
    const bodies = [`xx ${"x ".repeat(29_996)}heron`, `${"x ".repeat(29_998)}heron`];
    const other = openCorpus(bodies.map((body) => mail(`ends at ${body.length}`, { body })));
    const { hits } = openMailSearch(other).bestFirst(query("heron"));
    expect(hits.map((hit) => [...idsOf([hit]), hit.snippet.includes("heron")]).sort()).toEqual([
      ["ends at 60000", true],
      ["ends at 60001", false],
    ]);
    other.close();
  });

  it("come first if sent shortly before the question", () => {
    expect(best("gas price", "2001-06-11T00:00:00Z")[0]).toBe("july");
    const { hits } = search.explainBestFirst(ask("gas price", "2001-08-10T00:00:00Z"));
    expect(hits.map((hit) => hit.explanation.raises.recency)).toEqual([
      expect.closeTo(recencyRaise(31 * 86_400 - 32_400, 0), 6),
      expect.closeTo(recencyRaise(61 * 86_400 - 32_400, 0), 6),
      expect.any(Number),
    ]);
  });

  it.each([
    ["", null, "2001-08-01T09:00:00Z", 0],
    ["", null, "2001-07-10T09:00:00Z", 2],
    ["", null, "2001-01-10T09:00:00Z", 4],
    ["gas price", "2001-08-10T00:00:00Z", "2001-08-01T09:00:00Z", 0],
    ["gas price", "2001-08-10T00:00:00Z", "2001-01-10T09:00:00Z", 2],
    ["gas sunflower", "2001-08-10T00:00:00Z", "2001-08-01T09:00:00Z", 0, "best_match"],
  ])(
    "rank before an email outside the index (query %j, asked at %s, email of %s)",
    (words, askedAt, date, place, match = "all_words") => {
      const outside = {
        messageId: "<x@plains.example>",
        subject: "gas",
        sender: ANN,
        body: "the price of gas is $4.30",
      };
      expect(search.placed(ask(words, askedAt), [{ ...outside, date }])).toMatchObject([{ place, match }]);
    },
  );

  it("match names that occur only in their addresses", () => {
    expect(best("mann")).toEqual(["kay"]);
    expect(best("hills")).toEqual([]);
  });

  it.each([
    ["41500", "about 41,500 mmbtu"],
    ["41,500", "about 41500 mmbtu"],
    ["41,500", "about 41,500 mmbtu"],
    ["1234567", "1,234,567 in all"],
    ["7138530101", "call (713) 853-0101"],
    ["(713) 853-0101", "call 7138530101"],
    ["713.853.0101", "call 713-853-0101"],
    ["8530101", "call 853-0101"],
    ["cut-off", "the cutoff is at noon"],
    ["cut-off", "the cut off is at noon"],
  ])("match %s in %j", (words, body) => {
    const other = openCorpus([mail("other", { body: "500 and 713 and 41 off" }), mail("found", { body })]);
    const { hits } = openMailSearch(other, []).bestFirst(query(words));
    expect(idsOf(hits)[0]).toBe("found");
    expect(hits[0]?.match).toBe("all_words");
    other.close();
  });

  it("match the first 10,000 characters of a query", () => {
    const other = openCorpus([mail("found", { body: "heron" })]);
    const search = openMailSearch(other, []);
    const totals = [10_000, 10_001].map((length) => search.bestFirst(query("heron".padStart(length))).total);
    expect(totals).toEqual([1, 0]);
    other.close();
  });

  it("have snippets of their beginnings if the words of the query are far from each other", () => {
    const filler = " x".repeat(250);
    const other = openCorpus([mail("far", { body: `heron${filler} cut off${filler} heron` })]);
    expect(openMailSearch(other).bestFirst(query("cutoff heron")).hits[0]?.snippet).toMatch(/^heron x/);
    other.close();
  });

  it.each([19, 20])("match a word's parts only if fewer than 20 emails contain it as one word (%d)", (count) => {
    const whole = Array.from({ length: count }, (_, i) => mail(`whole ${i}`, { body: `${i} the cutoff is at noon` }));
    const other = openCorpus([...whole, mail("parts", { body: "the cut off is at noon" })]);
    const { hits } = openMailSearch(other, []).bestFirst({ ...query("cutoff"), limit: 30 });
    expect(idsOf(hits).includes("parts")).toBe(count === 19);
    other.close();
  });

  it("do not match parts of a grouped number as separate numbers", () => {
    const other = openCorpus([mail("other", { body: "41,501 and 500 and 141,500" })]);
    expect(openMailSearch(other, []).bestFirst(query("41500")).hits).toEqual([]);
    other.close();
  });

  it("match a named month's words only once", () => {
    const { hits } = search.explainBestFirst(ask("price in July 2001"));
    const occurrences = (hit: (typeof hits)[number]) => hit.explanation.words.map((one) => [one.word, one.occurrences]);
    expect(hits.map(occurrences)).toEqual([
      [
        ["price", 1],
        ["july", 1],
        ["2001", 1],
      ],
      [
        ["price", 0],
        ["july", 1],
        ["2001", 1],
      ],
      [
        ["price", 1],
        ["july", 0],
        ["2001", 0],
      ],
    ]);
  });

  it("ignore words about mail, unless the query consists only of them", () => {
    const words = (text: string) =>
      search.explainBestFirst(ask(text)).hits[0]?.explanation.words.map(({ word }) => word) ?? [];
    expect(words("the message about gas")).toEqual(["gas"]);
    expect(words("Original Message")).toEqual(["original"]);
    expect(words("message")).toEqual(["message"]);
  });

  it.each([
    [
      "BM25's score per word, with an average length of 1,600 bytes, for a question with a date",
      "2001-07-12T00:00:00Z",
      1,
      1,
    ],
    ["weaker length normalization and stronger rarity for a search without a date", null, 0.8125, 1.375],
  ])("use %s", (_, askedAt, lengthExponent, idfExponent) => {
    const long = "gas gas gas ".padEnd(3_200 - "subject".length, "other ");
    const other = openCorpus([mail("long", { subject: "subject", body: long }), mail("none", { body: "nothing" })]);
    const [hit] = openMailSearch(other, []).explainBestFirst(query("gas", { askedAt })).hits;
    const idf = Math.log(1 + (2 - 1 + 0.5) / (1 + 0.5)) ** idfExponent;
    const score = (idf * 3 * 2.2) / (3 + 1.2 * (0.25 + 0.75 * (3_200 / 1_600) ** lengthExponent));
    expect(hit?.explanation.words).toEqual([
      { word: "gas", occurrences: 3, idf: expect.closeTo(idf, 10), score: expect.closeTo(score, 10) },
    ]);
    other.close();
  });

  it("follow a score that is the product of its explained factors", () => {
    const { hits } = search.explainBestFirst(ask("What did Ann want for gas in June?", "2001-07-12T00:00:00Z"));
    for (const { explanation } of hits) {
      const words = explanation.words.reduce((sum, { score }) => sum + score, 0);
      const { recency, namedMonth } = explanation.raises;
      expect(explanation.score).toBeCloseTo(words * (1 + recency) * (1 + namedMonth), 10);
    }
    const scores = hits.map((hit) => hit.explanation.score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  it("form an empty list if no email can contain the words", () => {
    expect(search.explainBestFirst(ask("?!"))).toEqual({ hits: [], total: 0, corrections: [] });
  });
});

describe("a search over forty newsletters and a short email", () => {
  const db = openCorpus([
    ...Array.from({ length: 40 }, (_, i) =>
      mail(`news${i}`, { body: `storage, capacity, offer, market: ${"and so on ".repeat(900)} ${i}` }),
    ),
    mail("answer", { body: "storage capacity: 250", date: "1999-05-14T10:00:00Z" }),
  ]);
  afterAll(() => db.close());
  const search = openMailSearch(db);
  const first = (words: string, limit: number) =>
    idsOf(search.bestFirst(query(words, { limit, inboxId: addressId(db, ANN) })).hits)[0];
  const LIMITS = Array.from({ length: 50 }, (_, i) => i + 1);

  it("ranks the short email first if only that email contains the rare word, for any limit", () => {
    expect(new Set(LIMITS.map((limit) => first("storage capacity offer of 250", limit)))).toEqual(new Set(["answer"]));
  });

  it("ranks the same newsletter first if all of them contain every word, for any limit", () => {
    expect(new Set(LIMITS.map((limit) => first("storage capacity offer market", limit)))).toEqual(new Set(["news2"]));
  });
});

describe("a query that contains a word twice", () => {
  const db = openCorpus([
    mail("deal", { body: "deal" }),
    mail("storage", { body: "storage storage" }),
    mail("other", { body: "nothing" }),
  ]);
  afterAll(() => db.close());
  const search = openMailSearch(db);
  const scores = (words: string) =>
    Object.fromEntries(
      search.explainBestFirst(query(words)).hits.map((hit) => [...idsOf([hit]), hit.explanation.score]),
    );

  it("counts the word twice in any of its forms", () => {
    const [once, twice] = [scores("deal storage"), scores("deals with storage in a deal")];
    expect(twice.deal).toBeCloseTo(2 * (once.deal ?? 0), 10);
    expect(twice.storage).toBeCloseTo(once.storage ?? 0, 10);
  });
});

describe("a search of real mail", needs("real-mail"), () => {
  const { emptyDb } = importFolder();
  let db: Db;
  beforeAll(async () => {
    db = emptyDb();
    await importFrom(db, join(ENRON, "maildir.tar.gz"));
  }, 60_000);

  it("returns the same first n hits for every limit from 1 to 50", () => {
    const search = openMailSearch(db);
    const inboxId = openAddressBook(db).idOf("sean.crandall@enron.com");
    const bodies = db.prepare("SELECT body FROM mails ORDER BY id").pluck().all() as string[];
    const someWords = fc.tuple(fc.constantFrom(...bodies), fc.nat(), fc.integer({ min: 1, max: 8 }));
    let full = 0;
    fc.assert(
      fc.property(someWords, fc.constantFrom(null, "2001-09-01T00:00:00Z"), ([body, from, count], askedAt) => {
        const words = body.split(/\s+/);
        const text = words.slice(from % words.length, (from % words.length) + count).join(" ");
        const hitsFor = (limit: number): readonly MailHit[] =>
          search.bestFirst(query(text, { inboxId, askedAt, period: { after: null, before: askedAt }, limit })).hits;
        const all = hitsFor(50);
        for (let limit = 1; limit < 50; limit++) expect(hitsFor(limit)).toEqual(all.slice(0, limit));
        if (all.length === 50) full++;
      }),
      { seed: 45, numRuns: 25 },
    );
    expect(full).toBeGreaterThan(5);
  });
});
