import { afterAll, describe, expect, it } from "vitest";
import { editVariants } from "../../src/mail/search/spelling.js";
import { type MailQuery, openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { ANN, addressId, BEN, CAT, DAN, fill, idsOf, mail, openCorpus, query, withAllWords } from "./small-corpus.js";

describe("correcting the words of a search", () => {
  /** Words that occur in no email of a mailbox are replaced by a similar spelling. */

  const on = (day: number) => `2001-05-${String(day).padStart(2, "0")}T10:00:00Z`;

  const db = openCorpus([
    mail("hanevold", { body: "Please ask Hanevold about the price of gas.", date: on(1) }),
    mail("trade-mark", {
      body: "Our trade-mark is registered in Oslo, whatever trade does with the mark.",
      date: on(2),
    }),
    mail("apart", { body: "The mark is fair, and so is the trade.", date: on(2) }),
    mail("daylight", { body: "We sail in daylight.", date: on(3) }),
    mail("configuration", { body: "The configuration is on the desk.", date: on(4) }),
    mail("only", { body: "There is only one.", date: on(5) }),
    mail("moscow", { body: "Встреча в Москва, кафе Müller", date: on(6) }),
    mail("budget", { body: "会議室の予算 part AB1200 of invoice 2001", date: on(7) }),
    mail("january", { body: "It opens in January.", date: on(8) }),
    mail("long-words", { body: "International registration takes a year and many dollars.", date: on(8) }),
    mail("of-others", { body: "Kristofersen knows the secret sunflower", sender: CAT, to: [DAN], date: on(9) }),
    mail("of-cat", { body: "contract price", sender: CAT, date: on(10) }),
    mail("contact", { body: "contact me", sender: DAN, date: on(11) }),
    mail("later", { body: "Andersson and Hanewold came late.", date: on(20) }),
    mail("later-too", { body: "Hanewold once more.", date: on(21) }),
  ]);

  const opened: Db[] = [db];

  afterAll(() => {
    for (const one of opened) one.close();
  });

  const search = openMailSearch(db);

  /** Ben's mail up to the 14th. */
  const ofBen = (words: string, changes: Partial<MailQuery> = {}) =>
    query(words, {
      inboxId: addressId(db, BEN),
      period: { after: null, before: "2001-05-15T00:00:00Z" },
      ...changes,
    });

  const correctionsOf = (asked: MailQuery, of = search) =>
    of.explainBestFirst(asked).corrections.map(({ word, taken, by, mails }) => [word, taken, by, mails]);

  describe("an unknown word", () => {
    it.each([
      ["Hanvold", ["hanvold", "hanevold", "spelling", 1], "hanevold"],
      ["hanevodl", ["hanevodl", "hanevold", "spelling", 1], "hanevold"],
      ["Tanevold", ["tanevold", "hanevold", "spelling", 1], "hanevold"],
      ["ofregisteredtrademarks", null, null],
      ["config", ["config", "config*", "prefix", 1], "configuration"],
      ["janaury", ["janaury", "january", "spelling", 1], "january"],
      ["Маsква", null, null],
      ["масква", ["масква", "москва", "spelling", 1], "moscow"],
      ["Mülller", ["mulller", "muller", "spelling", 1], "moscow"],
    ])("becomes a similar word if there is one (%s, %s)", (words, correction, found) => {
      expect(correctionsOf(ofBen(words))).toEqual(correction === null ? [] : [correction]);
      expect(search.bestFirst(ofBen(words)).hits.map(({ match }) => match)).toEqual(
        found === null ? [] : ["best_match"],
      );
      expect(idsOf(search.bestFirst(ofBen(words)).hits)).toEqual(found === null ? [] : [found]);
    });

    it.each([
      ["trademark", "trade-mark"],
      ["day light", "daylight"],
      ["day-light", "daylight"],
      ["internationalregistration", "long-words"],
    ])("stays as typed if another form of it occurs (%s)", (words, found) => {
      expect(correctionsOf(ofBen(words))).toEqual([]);
      expect(idsOf(withAllWords(search, ofBen(words)))).toEqual([found]);
    });

    it.each([
      ["numbers", "2002 12000 20011"],
      ["part numbers", "AB1201 Q3x"],
      ["characters of a script without spaces", "会議室の子算 予算案会議室"],
      ["short words", "gaz prixe1 dsk"],
      ["a word with the same stem as a similar word", "online"],
      ["a word without a similar one", "Kowalczyk"],
      ["a word similar to one that emails contain only in another form", "collar"],
      ["a very long word", `${"hanevold".repeat(500)} gaspriceofthegaspriceofthegaspriceofthe`],
    ])("stays as typed (%s)", (_, words) => expect(correctionsOf(ofBen(words))).toEqual([]));

    it("becomes no other query word, and no word twice", () => {
      expect(correctionsOf(ofBen("Hanvold Hanevold"))).toEqual([]);
      expect(correctionsOf(ofBen("daylihgt daylights"))).toEqual([]);
      expect(correctionsOf(ofBen("config configuration"))).toEqual([]);
      expect(correctionsOf(ofBen("hanvold hanevodl"))).toEqual([["hanvold", "hanevold", "spelling", 1]]);
    });

    it("changes only if it is one of the first four", () => {
      const words = ["hanvold", "inovice", "config", "janaury", "daylihgt"];
      expect(correctionsOf(ofBen(words.join(" "))).map(([word]) => word)).toEqual(words.slice(0, 4));
    });

    it("appears in the snippet and the score as its correction", () => {
      const long = "nothing of note. ".repeat(40);
      const other = openCorpus([mail("long", { body: `${long} Signed, Hanevold. ${long}` })]);
      opened.push(other);
      const { hits } = openMailSearch(other).explainBestFirst(query("hanvold"));
      expect(hits[0]?.snippet).toContain("Signed, Hanevold.");
      expect(hits[0]?.explanation.words).toEqual([expect.objectContaining({ word: "hanevold", occurrences: 1 })]);
    });

    it("selects a month if its correction is a month", () => {
      const other = openCorpus([
        mail("of-january", { date: "2001-01-05T10:00:00Z", body: "gas" }),
        mail("january", { body: "january" }),
      ]);
      opened.push(other);
      const { hits } = openMailSearch(other).explainBestFirst(query("gas in Janaury"));
      expect(hits.find((hit) => idsOf([hit])[0] === "of-january")?.explanation.raises.namedMonth).toBe(0.5);
    });

    it("becomes the similar word that occurs in the most emails", () => {
      expect(correctionsOf(ofBen("hane-old hanexold", { period: { after: null, before: null } }))).toEqual([
        ["hanexold", "hanewold", "spelling", 2],
      ]);
    });
  });

  describe("words that need no correction", () => {
    it("find only exact matches", () => {
      const plain = openMailSearch(db, []);
      for (const words of ["gas price", "trade mark", "Hanevold config", "contract", "会議室 2001", "only Москва"]) {
        const asked = ofBen(words.replace("config", "configuration"));
        expect(search.bestFirst(asked)).toEqual(plain.bestFirst(asked));
      }
    });

    it("stay as typed if they occur in an email from another sender, in an earlier one, or only in the newest one", () => {
      const contactIsNewest = { after: null, before: on(12) };
      expect(correctionsOf(ofBen("contact", { period: contactIsNewest }))).toEqual([]);
      // Without that email, the word is unknown.
      expect(correctionsOf(ofBen("contact", { period: { after: null, before: on(11) } }))).toEqual([
        ["contact", "contract", "spelling", 1],
      ]);
      expect(correctionsOf(ofBen("contract", { fromIds: [addressId(db, DAN)] }))).toEqual([]);
      const after = { after: on(11), before: "2001-05-15T00:00:00Z" };
      expect(correctionsOf(ofBen("contract", { period: after }))).toEqual([]);
      // If the word is not in the mailbox, its correction must match the filter.
      expect(correctionsOf(ofBen("contacct", { fromIds: [addressId(db, DAN)] }))).toEqual([
        ["contacct", "contact", "spelling", 1],
      ]);
      expect(correctionsOf(ofBen("contacct", { fromIds: [addressId(db, CAT)] }))).toEqual([]);
    });
  });

  describe("a correction", () => {
    it("reveals nothing about mail in other mailboxes", () => {
      for (const words of ["Kristoffersen", "sunflowr", "sunflo", "sun flower"]) {
        expect(search.explainBestFirst(ofBen(words))).toEqual({ hits: [], total: 0, corrections: [] });
      }
      const ofDan = ofBen("Kristoffersen", { inboxId: addressId(db, DAN) });
      expect(correctionsOf(ofDan)).toEqual([["kristoffersen", "kristofersen", "spelling", 1]]);
    });

    it("reveals nothing about mail after the searched period", () => {
      expect(correctionsOf(ofBen("Anderson"))).toEqual([]);
      expect(correctionsOf(ofBen("Hanexold"))).toEqual([["hanexold", "hanevold", "spelling", 1]]);
      expect(correctionsOf(ofBen("Anderson", { period: { after: null, before: null } }))).toEqual([
        ["anderson", "andersson", "spelling", 1],
      ]);
    });

    it("reveals nothing about any mail if the searched period is empty", () => {
      expect(correctionsOf(ofBen("Hanvold", { period: { after: null, before: "1990-01-01T00:00:00Z" } }))).toEqual([]);
    });
  });

  it("immediately uses words of mail imported since the search was opened", () => {
    const grown = openCorpus([mail("first", { body: "gas" })]);
    opened.push(grown);
    const before = openMailSearch(grown);
    expect(correctionsOf(query("Hanvold"), before)).toEqual([]);
    fill(grown, [mail("second", { body: "from Hanevold" })]);
    expect(correctionsOf(query("Hanvold"), before)).toEqual([["hanvold", "hanevold", "spelling", 1]]);
    fill(grown, [mail("third", { body: "from Hanvold", sender: ANN })]);
    expect(correctionsOf(query("Hanvold"), before)).toEqual([]);
  });
});

describe("similar words", () => {
  it("include each word once, and not the original", () => {
    const variants = editVariants("ab");
    expect(variants).toEqual(expect.arrayContaining(["a", "b", "ba", "zb", "az", "zab", "azb", "abz"]));
    // Two deletions, one swap, 2 x 25 replacements, and 26 insertions at three positions. "aab" and "abb" occur twice.
    expect(variants).toHaveLength(2 + 1 + 50 + 3 * 26 - 2);
    expect(new Set(variants).size).toBe(variants.length);
    expect(variants).not.toContain("ab");
  });

  it.each([
    ["hanvold", "hanevold"],
    ["hannevold", "hanevold"],
    ["hanefold", "hanevold"],
    ["hanevlod", "hanevold"],
    ["anevold", "hanevold"],
    ["москав", "москва"],
    ["мсква", "москва"],
    ["αθινα", "αθηνα"],
    ["straße", "strasße"],
    ["תשובח", "תשוב"],
    ["תושבח", "תשובח"],
  ])("for %s include %s", (word, other) => expect(editVariants(word)).toContain(other));

  it("contain only letters of the word's own script, and no words for scripts without an alphabet", () => {
    expect(editVariants("мсква").join("")).not.toMatch(/[a-z]/);
    expect(editVariants("תשובח")).toHaveLength(5 + 4);
  });

  it("contain more letters of the first script if a word has two", () => {
    expect(editVariants("aя")).toContain("abя");
    expect(editVariants("aя")).not.toContain("aбя");
  });
});
