import { afterAll, describe, expect, test } from "vitest";
import { openMailSearch } from "../../src/mail/search.js";
import { openAddressBook } from "../../src/mail/search-query.js";
import { ANN, addressId, BEN, idsOf, mail, openCorpus, query } from "./small-corpus.js";

const KAY = "kay.mann@plains.example";
const LONG_KAY = "mckay.mann@plains.example";
const crowd = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@crowd.example`);

const db = openCorpus([
  mail("1", { body: "gas", to: [KAY, LONG_KAY, "50%_off@shop.example"] }),
  mail("2", { body: "gas", sender: KAY, to: crowd(200) }),
  mail("3", { body: "gas", sender: "o'neil@plains.example", to: ["late@crowd.example2"] }),
]);
const book = openAddressBook(db);
afterAll(() => db.close());

const addressesOf = (text: string) => {
  const match = book.matching(text);
  if (match.found !== "some") return match;
  return match.ids.map((id) => db.prepare("SELECT address FROM addresses WHERE id = ?").pluck().get(id)).sort();
};

describe("the address book finds", () => {
  test.each(["", " ", "\t\n", "nobody", "nobody@plains.example", "*", '"', "\0", "🙂", "ann ben"])(
    "none for %j",
    (text) => {
      expect(book.matching(text)).toEqual({ found: "none" });
      expect(book.idOf(text)).toBeNull();
    },
  );

  test("too many for what says too little, and how many that are at least", () => {
    expect(book.matching("@")).toEqual({ found: "too_many", count: 201 });
    expect(book.matching("crowd.example")).toEqual({ found: "too_many", count: 201 });
  });

  test("as many as are allowed", () => {
    expect(book.matching("@crowd.example")).toEqual({ found: "too_many", count: 201 });
    expect(addressesOf("p1@crowd")).toHaveLength(1);
    const fits = openCorpus([mail("1", { to: crowd(200) })]);
    expect(openAddressBook(fits).matching("crowd")).toMatchObject({ found: "some", ids: { length: 200 } });
    fits.close();
  });

  test.each([KAY, KAY.toUpperCase(), ` ${KAY}\n`])("the address itself for %j, not those that contain it", (text) => {
    expect(addressesOf(text)).toEqual([KAY]);
    expect(book.idOf(text)).toBe(addressId(db, KAY));
  });

  test.each([
    ["part of an address", "mann@", [KAY, LONG_KAY]],
    ["a name as people write it", "Kay  Mann", [KAY, LONG_KAY]],
    ["a name in other letters", "MCKAY", [LONG_KAY]],
    ["a percent sign as such", "%", ["50%_off@shop.example"]],
    ["an underscore as such", "_", ["50%_off@shop.example"]],
    ["an apostrophe as such", "o'n", ["o'neil@plains.example"]],
  ])("every address with %s", (_, text, addresses) => {
    expect(addressesOf(text)).toEqual(addresses);
  });
});

describe("a filter", () => {
  const search = openMailSearch(db);
  const found = (changes: Parameters<typeof query>[1]) =>
    idsOf(search.newestFirst(query("gas", changes))).sort((a, b) => a.localeCompare(b));
  const ids = (...addresses: string[]) => addresses.map((address) => addressId(db, address));

  test("by sender finds what was sent by one of them, not what went to them", () => {
    expect(found({ fromIds: ids(KAY) })).toEqual(["2"]);
    expect(found({ fromIds: ids(KAY, ANN) })).toEqual(["1", "2"]);
  });

  test("by recipient finds what went to one of them, not what they sent", () => {
    expect(found({ toIds: ids(KAY) })).toEqual(["1"]);
    expect(found({ toIds: ids(KAY, "p7@crowd.example") })).toEqual(["1", "2"]);
    expect(found({ toIds: ids(ANN) })).toEqual([]);
  });

  test("holds together with the others, in both ways of searching", () => {
    const both = { fromIds: ids(ANN, KAY), toIds: ids(KAY, "p7@crowd.example"), inboxId: addressId(db, ANN) };
    expect(found(both)).toEqual(["1"]);
    expect(idsOf(search.bestFirst(query("gas unheard", both)).hits)).toEqual(["1"]);
  });

  test("of 200 addresses is not too long for the index", () => {
    const some = book.matching("p1");
    const all = ids(...crowd(200));
    expect(some.found).toBe("some");
    expect(found({ toIds: all, fromIds: all })).toEqual([]);
    expect(found({ toIds: all })).toEqual(["2"]);
    expect(idsOf(search.bestFirst(query("gas", { toIds: all })).hits)).toEqual(["2"]);
  });

  test("of nobody's address does not exist: Ben is not in this mail", () => {
    expect(book.idOf(BEN)).toBeNull();
  });
});
