import { afterAll, describe, expect, test } from "vitest";
import { openAddressBook } from "../../src/mail/address-book.js";
import { openMailboxListing, openMailLookup } from "../../src/mail/mail-lookup.js";
import { frequentAddresses } from "../../src/mail/mailboxes.js";
import { openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { FOLDERS, randomMails } from "./random-corpus.js";
import { ANN, addressId, BEN, CAT, DAN, idsOf, mail, openCorpus, query, withAllWords } from "./small-corpus.js";

describe("looking up mail", () => {
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
      // In the format of some systems.
      { ...mail("x", { body: "without brackets" }), messageId: "bare@plains.example" },
      { ...mail("x", { body: "with spaces" }), messageId: "<sp ace@plains.example>" },
    ],
    { "eve-e": EVE, "gus-g": GUS },
  );

  const mails = openMailLookup(db);
  const search = openMailSearch(db);

  afterAll(() => db.close());

  describe("an unknown email", () => {
    test.each(["", " ", "<>", "<nobody@plains.example>", "a@plains", "%", "<A@PLAINS.EXAMPLE>", "\0", "\ud83d"])(
      "cannot be found under %j, which identifies only itself",
      (id) => {
        expect(mails.get(id)).toBeNull();
        expect(mails.canonicalId(id)).toBe(id);
      },
    );
  });

  describe("an email", () => {
    test.each([
      "<a@plains.example>",
      "a@plains.example",
      " <a@plains.example>\n",
      "<a@plains.example",
      "a@plains.example>",
    ])("can be found under %j", (id) => {
      expect(mails.get(id)).toMatchObject({ messageId: "<a@plains.example>", ...COPIED });
      expect(mails.canonicalId(id)).toBe("<a@plains.example>");
    });

    test.each(["bare@plains.example", "<sp ace@plains.example>", "sp ace@plains.example"])(
      "can be found under %j if its Message-ID is unusual",
      (id) => {
        expect(mails.get(id)).not.toBeNull();
      },
    );

    test("stays the same under all of its Message-IDs, and a search returns it once, under the first", () => {
      const copies = ["c", "a", "b"].map((id) => `<${id}@plains.example>`);
      expect(copies.map((id) => mails.get(id)?.messageId)).toEqual(copies);
      expect(new Set(copies.map((id) => mails.get(id)?.mailId)).size).toBe(1);
      expect(copies.map((id) => mails.canonicalId(id))).toEqual(Array(3).fill("<a@plains.example>"));
      expect(idsOf(withAllWords(search, query("filed three times")))).toEqual(["a"]);
    });

    test("contains all fields, with the recipients of each field", () => {
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

    test("lists each recipient once, in the first field that contains the address", () => {
      expect(mails.get("<twice@plains.example>")).toMatchObject({ to: [BEN, CAT], cc: [DAN, FLO], bcc: [GUS] });
      expect(mails.get("<alone@plains.example>")).toMatchObject({ to: [], cc: [], bcc: [], sender: "" });
    });
  });

  describe("the mailbox of an email", () => {
    const isIn = (id: string, address: string) => mails.isInInbox(mails.get(id)?.mailId ?? -1, addressId(db, address));
    const found = (address: string) => idsOf(withAllWords(search, query("gas", { inboxId: addressId(db, address) })));

    test.each([
      ["its sender", ANN],
      ["a recipient", BEN],
      ["a cc recipient", CAT],
      ["a bcc recipient", DAN],
      ["the owner of its folder", EVE],
    ])("belongs to %s, for reading and searching", (_, address) => {
      expect(isIn("all@plains.example", address)).toBe(true);
      expect(found(address)).toEqual(["all"]);
    });

    test.each([FLO, GUS])("does not belong to %s", (address) => {
      expect(isIn("all@plains.example", address)).toBe(false);
      expect(found(address)).toEqual(["other"]);
    });

    test("belongs to everyone who has a copy in a folder", () => {
      for (const id of ["a", "b", "c"]) {
        const inboxes = [ANN, BEN, CAT, DAN, EVE, FLO, GUS].filter((address) => isIn(`${id}@plains.example`, address));
        expect(inboxes).toEqual([ANN, BEN, EVE, GUS]);
      }
    });

    test("does not belong to an address whose number starts or ends with the same digits", () => {
      const to = Array.from({ length: 30 }, (_, i) => `p${i}@crowd.example`);
      const crowd = openCorpus(to.map((address, i) => mail(`${i}`, { sender: "", to: [address], body: `gas ${i}` })));
      const book = openAddressBook(crowd);
      const inCrowd = openMailSearch(crowd);
      for (const [i, address] of to.entries()) {
        expect(idsOf(withAllWords(inCrowd, query("gas", { inboxId: book.idOf(address) })))).toEqual([`${i}`]);
      }
      crowd.close();
    });

    test("exists only if both the email and the address exist", () => {
      expect(mails.isInInbox(999, addressId(db, ANN))).toBe(false);
      expect(mails.isInInbox(1, 999)).toBe(false);
    });
  });
});

describe("a mailbox listing", () => {
  const day = (number: number) => `2001-05-${String(number).padStart(2, "0")}T10:00:00Z`;

  const db = openCorpus([
    ...[1, 2, 3, 4].map((n) => mail(`a${n}`, { subject: `number ${n}`, date: day(n) })),
    mail("b1", { subject: "of another mailbox", sender: CAT, to: [DAN] }),
  ]);

  afterAll(() => db.close());

  const listing = openMailboxListing(db, BEN, null);

  test("lists the newest emails first, in consecutive pages", () => {
    const first = listing.list(null, 3);
    expect(first.map(({ messageId, subject, sender, date }) => ({ messageId, subject, sender, date }))).toEqual(
      [4, 3, 2].map((n) => ({
        messageId: `<a${n}@plains.example>`,
        subject: `number ${n}`,
        sender: ANN,
        date: day(n),
      })),
    );
    expect(listing.list(first.at(-1)?.cursor ?? null, 3).map(({ subject }) => subject)).toEqual(["number 1"]);
  });

  test("ends before the cutoff", () => {
    const early = openMailboxListing(db, BEN, day(3));
    expect(early.list(null, 9).map(({ subject }) => subject)).toEqual(["number 2", "number 1"]);
    expect(early.complete("a", 9)).toEqual({ ids: ["<a1@plains.example>", "<a2@plains.example>"], hasMore: false });
  });

  test("completes a prefix, and says if there are more emails", () => {
    const ids = [1, 2, 3, 4].map((n) => `<a${n}@plains.example>`);
    expect(listing.complete("a", 4)).toEqual({ ids, hasMore: false });
    expect(listing.complete(" <a", 3)).toEqual({ ids: ids.slice(0, 3), hasMore: true });
    expect(listing.complete("a4", 3)).toEqual({ ids: ids.slice(3), hasMore: false });
    expect(listing.complete("b", 3)).toEqual({ ids: [], hasMore: false });
  });

  test("contains nothing for an unknown address", () => {
    const nobody = openMailboxListing(db, "nobody@plains.example", null);
    expect(nobody.list(null, 9)).toEqual([]);
    expect(nobody.complete("a", 9)).toEqual({ ids: [], hasMore: false });
  });
});

describe("mailbox sizes", () => {
  const open: Db[] = [];

  afterAll(() => {
    for (const db of open) db.close();
  });

  function corpus(...args: Parameters<typeof openCorpus>): Db {
    const db = openCorpus(...args);
    open.push(db);
    return db;
  }

  test("equal the counts of searches, largest first", () => {
    const db = corpus(randomMails(100, 3), FOLDERS);
    const inboxes = frequentAddresses(db, 100);
    const count = db.prepare("SELECT count(*) FROM mailboxes WHERE address_id = ?").pluck();
    expect(inboxes.length).toBeGreaterThan(4);
    for (const { address, mails } of inboxes) expect(mails).toBe(count.get(addressId(db, address)));
    expect(inboxes.map(({ mails }) => mails)).toEqual(inboxes.map(({ mails }) => mails).sort((a, b) => b - a));
    expect(frequentAddresses(db, 2)).toEqual(inboxes.slice(0, 2));
  });

  test("ignore words in the mail that look like index terms", () => {
    const db = corpus([mail("one", { subject: "in1 in2 in77", body: "in1 in2 in77" }), mail("two", { to: [ANN] })]);
    expect(frequentAddresses(db, 9)).toEqual([
      { address: ANN, mails: 2 },
      { address: BEN, mails: 1 },
    ]);
  });

  test("form an empty list if there is no mail", () => {
    expect(frequentAddresses(corpus([]), 9)).toEqual([]);
  });
});
