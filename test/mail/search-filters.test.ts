import { afterAll, describe, expect, test } from "vitest";
import { openAddressBook } from "../../src/mail/address-book.js";
import { endOfDay } from "../../src/mail/date-range.js";
import { openMailSearch } from "../../src/mail/search.js";
import { ANN, addressId, BEN, idsOf, mail, openCorpus, query, withAllWords } from "./small-corpus.js";

describe("the address book", () => {
  const KAY = "kay.mann@plains.example";
  const LONG_KAY = "mckay.mann@plains.example";
  const crowd = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@crowd.example`);

  const db = openCorpus([
    mail("1", { body: "gas", to: [KAY, LONG_KAY, "50%_off@shop.example"] }),
    mail("2", { body: "gas", sender: KAY, to: crowd(200) }),
    mail("3", {
      body: "gas",
      sender: "o'neil@plains.example",
      to: ["late@crowd.example2", "zq88@plains.example"],
      headerNames: { names: ["Zélda Quarles"], addresses: ["zq88@plains.example"], lists: [], senderName: "" },
    }),
  ]);

  const book = openAddressBook(db);

  afterAll(() => db.close());

  const addressesOf = (text: string) => {
    const match = book.matching(text);
    if (match.found !== "some") return match;
    return match.ids.map((id) => db.prepare("SELECT address FROM addresses WHERE id = ?").pluck().get(id)).sort();
  };

  describe("finding addresses in the address book", () => {
    test.each(["", " ", "\t\n", "nobody", "nobody@plains.example", "*", '"', "\0", "🙂", "ann ben"])(
      "returns nothing for %j",
      (text) => {
        expect(book.matching(text)).toEqual({ found: "none" });
        expect(book.idOf(text)).toBeNull();
      },
    );

    test("reports the minimum number if a short query finds too many addresses", () => {
      expect(book.matching("@")).toEqual({ found: "too_many", count: 201 });
      expect(book.matching("crowd.example")).toEqual({ found: "too_many", count: 201 });
    });

    test("returns as many addresses as allowed", () => {
      expect(book.matching("@crowd.example")).toEqual({ found: "too_many", count: 201 });
      expect(addressesOf("p1@crowd")).toHaveLength(1);
      const fits = openCorpus([mail("1", { to: crowd(200) })]);
      expect(openAddressBook(fits).matching("crowd")).toMatchObject({ found: "some", ids: { length: 200 } });
      fits.close();
    });

    test.each([KAY, KAY.toUpperCase(), ` ${KAY}\n`])(
      "returns the address itself for %j, not longer ones that contain it",
      (text) => {
        expect(addressesOf(text)).toEqual([KAY]);
        expect(book.idOf(text)).toBe(addressId(db, KAY));
      },
    );

    test.each([
      ["part of an address", "mann@", [KAY, LONG_KAY]],
      ["a normally written name", "Kay  Mann", [KAY]],
      ["a name with the last name first", "Mann, Kay", [KAY]],
      ["a name with its address", `Somebody <${KAY}>`, [KAY]],
      ["the start of words", "k ma", [KAY]],
      ["a display name", "Zelda Quarles", ["zq88@plains.example"]],
      ["a display name's start and accents", "zél", ["zq88@plains.example"]],
      ["a name in another case", "MCKAY", [LONG_KAY]],
      ["a literal percent sign", "%", ["50%_off@shop.example"]],
      ["a literal underscore", "_", ["50%_off@shop.example"]],
      ["a literal apostrophe", "o'n", ["o'neil@plains.example"]],
    ])("returns every address that matches %s", (_, text, addresses) => {
      expect(addressesOf(text)).toEqual(addresses);
    });
  });

  describe("a filter", () => {
    const search = openMailSearch(db);
    const found = (changes: Parameters<typeof query>[1]) =>
      idsOf(withAllWords(search, query("gas", changes))).sort((a, b) => a.localeCompare(b));
    const ids = (...addresses: string[]) => addresses.map((address) => addressId(db, address));

    test("finds mail from any of the addresses, not to them, if it is by sender", () => {
      expect(found({ fromIds: ids(KAY) })).toEqual(["2"]);
      expect(found({ fromIds: ids(KAY, ANN) })).toEqual(["1", "2"]);
    });

    test("finds mail to any of the addresses, not from them, if it is by recipient", () => {
      expect(found({ toIds: ids(KAY) })).toEqual(["1"]);
      expect(found({ toIds: ids(KAY, "p7@crowd.example") })).toEqual(["1", "2"]);
      expect(found({ toIds: ids(ANN) })).toEqual([]);
    });

    test("applies together with other filters, in both search orders", () => {
      const both = { fromIds: ids(ANN, KAY), toIds: ids(KAY, "p7@crowd.example"), inboxId: addressId(db, ANN) };
      expect(found(both)).toEqual(["1"]);
      expect(idsOf(search.bestFirst(query("gas unheard", both)).hits)).toEqual(["1"]);
    });

    test("can contain 200 addresses", () => {
      const some = book.matching("p1");
      const all = ids(...crowd(200));
      expect(some.found).toBe("some");
      expect(found({ toIds: all, fromIds: all })).toEqual([]);
      expect(found({ toIds: all })).toEqual(["2"]);
      expect(idsOf(search.bestFirst(query("gas", { toIds: all })).hits)).toEqual(["2"]);
    });

    test("finds nothing for an address outside this mailbox", () => {
      expect(book.idOf(BEN)).toBeNull();
    });
  });
});

describe("date ranges", () => {
  const DATES = {
    old: "1999-12-31T23:59:59Z",
    first: "2001-05-14T00:00:00Z",
    twin: "2001-05-14T00:00:00Z",
    noon: "2001-05-14T12:00:00Z",
    last: "2001-05-14T23:59:59Z",
    next: "2001-05-15T00:00:00Z",
  } as const;

  const db = openCorpus([
    ...Object.entries(DATES).map(([id, date]) => mail(id, { body: `gas of ${id}`, date })),
    mail("undated", { body: "gas of no day", date: null }),
  ]);

  const search = openMailSearch(db);

  afterAll(() => db.close());

  const inPeriod = (after: string | null, before: string | null) =>
    idsOf(withAllWords(search, query("gas", { period: { after, before }, limit: 50 }))).sort();

  test("return mail in the file's order if newest first, with undated mail at the end", () => {
    const ids = idsOf(withAllWords(search, query("gas", { limit: 50 })));
    // The twins have the same second, so either may be first.
    expect(ids.map((id) => (id === "twin" ? "first" : id))).toEqual(
      "next last noon first first old undated".split(" "),
    );
  });

  describe("a period", () => {
    test.each<[string, string | null, string | null, string[]]>([
      [
        "contains everything, including undated mail, if it has no limits",
        null,
        null,
        [...Object.keys(DATES), "undated"],
      ],
      ["includes its first second", DATES.first, null, ["first", "last", "next", "noon", "twin"]],
      [
        "excludes mail that is a second older than its first second",
        "2001-05-14T00:00:01Z",
        null,
        ["last", "next", "noon"],
      ],
      ["excludes its last second", null, DATES.next, ["first", "last", "noon", "old", "twin"]],
      ["includes mail that is a second older than its last second", null, "2001-05-15T00:00:01Z", Object.keys(DATES)],
      ["contains that day if it is one day long", DATES.first, DATES.next, ["first", "last", "noon", "twin"]],
      [
        "contains all mail in that second if it is one second long",
        DATES.first,
        "2001-05-14T00:00:01Z",
        ["first", "twin"],
      ],
      ["is empty if it lies between two emails", "2001-05-14T13:00:00Z", "2001-05-14T14:00:00Z", []],
      ["is empty if it has no length", DATES.noon, DATES.noon, []],
      ["is empty if it ends before its start", DATES.next, DATES.first, []],
      ["is empty if it is before all mail", null, "1990-01-01T00:00:00Z", []],
      ["is empty if it is after all mail, dated or undated", "2010-01-01T00:00:00Z", null, []],
      [
        "starts and ends at the start of the days if given in days",
        "2001-05-14",
        "2001-05-15",
        ["first", "last", "noon", "twin"],
      ],
    ])("selects the emails of a period that %s", (_, after, before, ids) => {
      expect(inPeriod(after, before)).toEqual([...ids].sort());
    });

    test("never contains undated mail if it has a limit, however wide it is", () => {
      expect(inPeriod("0000-01-01T00:00:00Z", null)).not.toContain("undated");
      expect(inPeriod(null, "9999-12-31T23:59:59Z")).not.toContain("undated");
    });

    test("limits best-first results too, with their weights and their total", () => {
      const { hits, total } = search.bestFirst(
        query("gas noon", { period: { after: DATES.first, before: DATES.next } }),
      );
      expect(hits[0]).toMatchObject({ messageId: "<noon@plains.example>", match: "all_words" });
      expect(idsOf(hits).sort()).toEqual(["first", "last", "noon", "twin"]);
      expect(total).toBe(4);
    });

    test("contains nothing if the file contains no mail", () => {
      const empty = openCorpus([]);
      for (const period of [
        { after: null, before: null },
        { after: DATES.old, before: DATES.next },
      ]) {
        expect(openMailSearch(empty).bestFirst(query("gas", { period }))).toEqual({ hits: [], total: 0 });
      }
      empty.close();
    });
  });

  describe("the end of a day", () => {
    test.each([
      ["2001-05-14", "2001-05-15T00:00:00Z"],
      ["2001-05-31", "2001-06-01T00:00:00Z"],
      ["2001-12-31", "2002-01-01T00:00:00Z"],
      ["2000-02-28", "2000-02-29T00:00:00Z"],
      ["2001-02-28", "2001-03-01T00:00:00Z"],
      ["2001-05-14T18:30:00Z", "2001-05-15T00:00:00Z"],
    ])("for %s equals %s", (day, end) => {
      expect(endOfDay(day)).toBe(end);
    });

    test("includes the entire day if it is the cutoff, and nothing later", () => {
      expect(inPeriod(null, endOfDay("2001-05-14"))).toEqual(["first", "last", "noon", "old", "twin"]);
    });

    test("comes after all mail of that day if the day is the last valid date", () => {
      expect(endOfDay("9999-12-31") > "9999-12-31T23:59:59Z").toBe(true);
    });
  });
});
