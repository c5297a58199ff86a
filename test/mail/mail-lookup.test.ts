import { afterAll, describe, expect, test } from "vitest";
import { openMailLookup } from "../../src/mail/mailbox.js";
import { openMailSearch } from "../../src/mail/search.js";
import { openAddressBook } from "../../src/mail/search-query.js";
import { ANN, addressId, BEN, CAT, DAN, idsOf, mail, openCorpus, query } from "./small-corpus.js";

const [EVE, FLO, GUS] = ["eve@hills.example", "flo@hills.example", "gus@hills.example"];
const COPIED = { subject: "Copied", body: "One mail, filed three times." };
const PARTIES = { body: "gas for all", to: [BEN], cc: [CAT], bcc: [DAN], owner: "eve-e" };

const db = openCorpus(
  [
    mail("c", { ...COPIED, owner: "eve-e" }),
    mail("a", { ...COPIED, owner: "gus-g" }),
    mail("b", COPIED),
    mail("all", PARTIES),
    mail("other", { sender: FLO, to: [GUS], body: "gas for Gus" }),
    mail("alone", { sender: "", to: [], body: "no one" }),
    mail("twice", { to: [BEN, CAT, BEN], cc: [CAT, DAN, FLO], bcc: [DAN, GUS, BEN], body: "named twice" }),
    // As some systems write them.
    { ...mail("x", { body: "without brackets" }), messageId: "bare@plains.example" },
    { ...mail("x", { body: "with spaces" }), messageId: "<sp ace@plains.example>" },
  ],
  { "eve-e": EVE, "gus-g": GUS },
);
const mails = openMailLookup(db);
const search = openMailSearch(db);
afterAll(() => db.close());

describe("a mail is not found", () => {
  test.each(["", " ", "<>", "<nobody@plains.example>", "a@plains", "%", "<A@PLAINS.EXAMPLE>", "\0", "\ud83d"])(
    "under %j, which then names itself only",
    (id) => {
      expect(mails.get(id)).toBeNull();
      expect(mails.canonicalId(id)).toBe(id);
    },
  );
});

describe("a mail", () => {
  test.each([
    "<a@plains.example>",
    "a@plains.example",
    " <a@plains.example>\n",
    "<a@plains.example",
    "a@plains.example>",
  ])("is found under %j", (id) => {
    expect(mails.get(id)).toMatchObject({ messageId: "<a@plains.example>", ...COPIED });
    expect(mails.canonicalId(id)).toBe("<a@plains.example>");
  });

  test.each(["bare@plains.example", "<sp ace@plains.example>", "sp ace@plains.example"])(
    "whose Message-ID is written oddly is found under %j",
    (id) => {
      expect(mails.get(id)).not.toBeNull();
    },
  );

  test("is one under all of its Message-IDs, and found once by a search, under the first", () => {
    const copies = ["c", "a", "b"].map((id) => `<${id}@plains.example>`);
    expect(copies.map((id) => mails.get(id)?.messageId)).toEqual(copies);
    expect(new Set(copies.map((id) => mails.get(id)?.mailId)).size).toBe(1);
    expect(copies.map((id) => mails.canonicalId(id))).toEqual(Array(3).fill("<a@plains.example>"));
    expect(idsOf(search.newestFirst(query("filed three times")))).toEqual(["a"]);
  });

  test("comes whole, its recipients apart", () => {
    expect(mails.get("<all@plains.example>")).toEqual({
      mailId: expect.any(Number),
      messageId: "<all@plains.example>",
      subject: "",
      sender: ANN,
      to: [BEN],
      cc: [CAT],
      bcc: [DAN],
      date: "2001-05-14T10:00:00Z",
      body: "gas for all",
    });
  });

  test("names each recipient once, where it stands first", () => {
    expect(mails.get("<twice@plains.example>")).toMatchObject({ to: [BEN, CAT], cc: [DAN, FLO], bcc: [GUS] });
    expect(mails.get("<alone@plains.example>")).toMatchObject({ to: [], cc: [], bcc: [], sender: "" });
  });
});

describe("a mail lies in the mailbox", () => {
  const isIn = (id: string, address: string) => mails.isInInbox(mails.get(id)?.mailId ?? -1, addressId(db, address));
  const found = (address: string) => idsOf(search.newestFirst(query("gas", { inboxId: addressId(db, address) })));

  test.each([
    ["its sender", ANN],
    ["a recipient", BEN],
    ["one it went to in copy", CAT],
    ["one it went to in blind copy", DAN],
    ["the owner of the folder it was filed in", EVE],
  ])("of %s, for reading as for searching", (_, address) => {
    expect(isIn("all@plains.example", address)).toBe(true);
    expect(found(address)).toEqual(["all"]);
  });

  test.each([FLO, GUS])("of nobody else: not of %s", (address) => {
    expect(isIn("all@plains.example", address)).toBe(false);
    expect(found(address)).toEqual(["other"]);
  });

  test("of everybody in whose folders a copy lies", () => {
    for (const id of ["a", "b", "c"]) {
      const inboxes = [ANN, BEN, CAT, DAN, EVE, FLO, GUS].filter((address) => isIn(`${id}@plains.example`, address));
      expect(inboxes).toEqual([ANN, BEN, EVE, GUS]);
    }
  });

  test("of no address whose number begins or ends with the same digits", () => {
    const to = Array.from({ length: 30 }, (_, i) => `p${i}@crowd.example`);
    const crowd = openCorpus(to.map((address, i) => mail(`${i}`, { sender: "", to: [address], body: `gas ${i}` })));
    const book = openAddressBook(crowd);
    const inCrowd = openMailSearch(crowd);
    for (const [i, address] of to.entries()) {
      expect(idsOf(inCrowd.newestFirst(query("gas", { inboxId: book.idOf(address) })))).toEqual([`${i}`]);
    }
    crowd.close();
  });

  test("not where there is no such mail, or no such address", () => {
    expect(mails.isInInbox(999, addressId(db, ANN))).toBe(false);
    expect(mails.isInInbox(1, 999)).toBe(false);
  });
});
