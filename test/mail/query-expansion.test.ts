import { describe, expect, it } from "vitest";
import { openMailSearch } from "../../src/mail/search.js";
import { mail, openCorpus, query } from "./small-corpus.js";

/**
 * Queries and bodies with different spellings of the same words: each must find the other without the word corrector.
 */
const PAIRS: readonly (readonly [string, string])[] = [
  ["final", "ﬁnal"],
  ["office", "oﬃce"],
  ["cutoff", "ｃｕｔｏｆｆ"],
  ["ENRON 41500", "ＥＮＲＯＮ ４１５００"],
  ["カタカナ", "ｶﾀｶﾅ"],
  ["Strasse", "Straße"],
  ["Walesa", "Wałęsa"],
  ["Sorensen", "Sørensen"],
  ["Soerensen", "Sørensen"],
  ["Mueller", "Müller"],
  ["Muller", "Müller"],
  ["encyclopaedia", "encyclopædia"],
  ["cutoff", "cut-off"],
  ["cutoff", "cut off"],
  ["cut-off", "cut off"],
  ["e-mailed", "emailed"],
  ["ecommerce", "e-commerce"],
  ["followup", "follow up"],
  ["follow-up", "followup"],
  ["setup", "set up"],
  ["voicemail", "voice mail"],
  ["EnronOnline", "Enron Online"],
  ["ONeill", "O'Neill"],
  ["PUC", "P.U.C."],
  ["41500", "41,500"],
  ["$41500", "$41,500.00"],
  ["41500", "41.5k"],
  ["41,500", "41.5 thousand"],
  ["$1.5 million", "$1,500,000"],
  ["1500000", "1.5 million"],
  ["$1.5 million", "$1.5MM"],
  ["$1.5M", "1,500,000"],
  ["2 billion", "2,000,000,000"],
  ["10%", "10 percent"],
  ["10 percent", "10 per cent"],
  ["(713) 853-0101", "713-853-0101"],
  ["7138530101", "(713) 853-0101"],
  ["713.853.0101", "7138530101"],
  ["713/853-0101", "+1 713 853 0101"],
  ["8530101", "853-0101"],
  ["50 mw", "50MW"],
  ["March 15", "3/15"],
  ["15 March", "3/15"],
  ["March 15th", "March 15"],
  ["Mar 15", "March 15"],
  ["88500", "88'500"],
  ["88'500", "88 500"],
  ["88.500.000", "88500000"],
  ["123456", "1,23,456"],
  ["AB-1234X", "AB1234X"],
  ["AB 1234X", "AB1234X"],
  ["AB-1234X", "AB 1234X"],
  ["4711-0815-99", "4711081599"],
  ["2001/4711-A", "20014711A"],
  ["4111 1111 1111 1234", "4111111111111234"],
  ["4111-1111-1111-1234", "4111 1111 1111 1234"],
  ["FR76 3000 6000 0112 3456 7890 189", "FR7630006000011234567890189"],
  ["01 42 68 53 00", "0142685300"],
  ["01.42.68.53.00", "0142685300"],
  ["+49 89/123410", "+49 89123410"],
  ["4f2504e0-4f89-11d3-9a0c-0305e82c3302", "4f2504e04f8911d39a0c0305e82c3302"],
  ["ΠΡΟΣΦΟΡΑ", "προσφορά"],
  ["συμβαση", "σύμβαση"],
  ["ΛΟΓΟΣ", "λόγος"],
  ["еще", "ещё"],
  ["احمد", "أحمد"],
  ["على", "علي"],
  ["المدرسه", "المدرسة"],
  ["الغاز", "الغَازُ"],
  ["کتاب", "كتاب"],
  ["قيمت", "قیمت"],
  ["میخواهم", "می‌خواهم"],
  ["محمد", "محـمـد"],
  ["שלום", "שָׁלוֹם"],
  ["7315", "۷۳۱۵"],
  ["99812", "٩٩٨١٢"],
  ["2001", "२००१"],
  ["会议记录", "會議記錄"],
  ["台湾电力", "臺灣電力"],
  ["头发", "頭髮"],
  ["договор", "договорах"],
  ["встреча", "встречи"],
  ["Отчёты", "отчетов"],
  ["ميزانية", "الميزانية"],
  ["مدير", "والمدير"],
  ["مشروع", "للمشروع"],
];

describe("a search for another form of a word", () => {
  it.each([...PAIRS, ...PAIRS.map(([one, other]) => [other, one] as const)])(
    "finds an email that contains %j with the query %j",
    (asked, written) => {
      const db = openCorpus([
        mail("written", { body: `It says ${written} here`, date: "2001-01-05T10:00:00Z" }),
        // The exact query words are known, so that no corrector is used.
        mail("asked", { body: `It says ${asked} here`, date: "2001-01-05T11:00:00Z" }),
        mail("neither", { body: "It says nothing of the kind", date: "2001-01-05T12:00:00Z" }),
      ]);
      const { hits } = openMailSearch(db, []).bestFirst(query(asked));
      const complete = hits.filter(({ match }) => match === "all_words").map(({ messageId }) => messageId);
      expect(complete.sort()).toEqual(["<asked@plains.example>", "<written@plains.example>"]);
      db.close();
    },
  );
});

describe("a search for a compound of three words", () => {
  it.each([
    ["day-ahead-market", "the dayaheadmarket"],
    ["quarterly budget review", "See QuarterlyBudgetReview.doc now"],
    ["the quarterly budget review of March", "QuarterlyBudgetReview, March"],
  ])("finds for %j the compound written as one word", (asked, body) => {
    const db = openCorpus([mail("written", { body })]);
    expect(openMailSearch(db, []).bestFirst(query(asked)).hits).toMatchObject([{ match: "all_words" }]);
    db.close();
  });
});

describe("the distinctions of a search", () => {
  it.each([
    ["along", "a long contract"],
    ["Spain", "it's pain"],
    ["report", "Re: port"],
    ["maybe", "it may be"],
    ["41500", "41 and 500"],
    ["1500000", "15 million"],
    ["3/15", "315"],
    ["5 m", "5000000"],
    ["gas price", "gas prices price gas"],
  ])("separate %j from %j", (asked, written) => {
    const db = openCorpus([mail("written", { body: `It says ${written} here`, date: "2001-01-05T10:00:00Z" })]);
    const { hits } = openMailSearch(db, []).bestFirst(query(asked));
    expect(hits.filter(({ match }) => match === "all_words")).toHaveLength(asked === "gas price" ? 1 : 0);
    db.close();
  });
});

describe("a hit's snippet", () => {
  it.each([
    ["cutoff", "The cut off is at noon"],
    ["会议记录", "附件是會議記錄"],
    ["會議記錄", "附件是会议记录"],
  ])("for %s shows %j, which is spelled differently", (asked, written) => {
    const body = `${"Nothing of note in this line.\n".repeat(40)}${written}.\n${"Nor here.\n".repeat(40)}`;
    const db = openCorpus([mail("written", { body })]);
    expect(openMailSearch(db, []).bestFirst(query(asked)).hits[0]?.snippet).toContain(written);
    db.close();
  });
});
