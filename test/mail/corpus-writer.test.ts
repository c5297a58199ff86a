import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readFingerprint } from "../../src/mail/corpus.js";
import type { FiledEmail } from "../../src/mail/email.js";
import { openCorpusWriter } from "../../src/mail/import/corpus-writer.js";
import { toStorableMail } from "../../src/mail/import/storable-mail.js";
import { openMailLookup } from "../../src/mail/mail-lookup.js";
import { seeded } from "../random.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { content, importMails, mail, shuffled } from "./corpus-setup.js";
import { addressId } from "./small-corpus.js";

let test: TestDb;
beforeEach(() => {
  test = openEmpty();
});
afterEach(() => test.close());

function openWriter() {
  const writer = openCorpusWriter(test.db, { source: "a test", format: "maildir", filter: "none" });
  return {
    add: (email: FiledEmail) => writer.add(toStorableMail(email, null)),
    addWithoutContent: (email: FiledEmail) => writer.add({ ...toStorableMail(email, null), content: null }),
    get changed() {
      return writer.changed;
    },
  };
}

const first = mail({ messageId: "<a@x>", to: ["bob@x.example"], cc: ["cy@x.example"], body: "Lunch at noon?" });

describe("CorpusWriter.add", () => {
  it("returns new for unknown content", () => {
    const writer = openWriter();
    expect(writer.changed).toBe(false);
    expect(writer.add(first)).toBe("new");
    expect(writer.changed).toBe(true);
  });

  it.each([
    ["subject", { subject: "Other" }],
    ["sender", { sender: "other@x.example" }],
    ["recipients", { to: ["bob@x.example", "dee@x.example"] }],
    ["date", { date: "2001-05-14T12:00:01Z" }],
    ["presence of a date", { date: null }],
    ["body", { body: "Lunch at noon!" }],
  ])("returns new if emails differ only in the %s", (_what, change) => {
    const writer = openWriter();
    writer.add(first);
    expect(writer.add({ ...first, messageId: "<b@x>", ...change })).toBe("new");
  });

  it("returns copy if the content is the same under another Message-ID, in any recipient header", () => {
    const writer = openWriter();
    writer.add(first);
    expect(writer.add({ ...first, messageId: "<b@x>", owner: "bob", path: "bob/inbox/1." })).toBe("copy");
    expect(writer.add({ ...first, messageId: "<c@x>", to: ["cy@x.example", "bob@x.example"], cc: [] })).toBe("copy");
  });

  it("returns copy, and does not store the content again, only if an equal email was added before", () => {
    const writer = openWriter();
    expect(() => writer.addWithoutContent(first)).toThrow("<a@x>");
    writer.add(first);
    expect(writer.addWithoutContent({ ...first, messageId: "<b@x>" })).toBe("copy");
    expect(() => writer.addWithoutContent({ ...first, messageId: "<c@x>", body: "Other" })).toThrow("<c@x>");
  });

  it("returns known if the Message-ID and the content are the same, and changes nothing", () => {
    openWriter().add({ ...first, path: "bob/inbox/1.", owner: "bob" });
    const again = openWriter();
    expect(again.add({ ...first, path: "bob/inbox/1.", owner: "bob" })).toBe("known");
    expect(again.add({ ...first, path: "bob/inbox/2.", owner: "bob" })).toBe("known");
    expect(again.changed).toBe(false);
  });

  it("returns known for another owner's copy, and adds it to that owner's folders", () => {
    openWriter().add({ ...first, path: "bob/inbox/1.", owner: "bob" });
    const again = openWriter();
    expect(again.add({ ...first, path: "cy/inbox/1.", owner: "cy" })).toBe("known");
    expect(again.changed).toBe(true);
  });

  it("returns renamed if a different email has the Message-ID, keeps both, and recognizes them later as known", () => {
    const other = { ...first, body: "Quite another mail." };
    const writer = openWriter();
    expect([writer.add(first), writer.add(other), writer.add(other), writer.add(first)]).toEqual([
      "new",
      "renamed",
      "known",
      "known",
    ]);
    const mails = openMailLookup(test.db);
    const ids = test.db.prepare("SELECT message_id FROM messages ORDER BY 1").pluck().all() as string[];
    expect(ids).toEqual(["<a@x>", expect.stringMatching(/^<a@x>~[0-9a-f]{8}$/)]);
    expect(new Set(ids.map((id) => mails.get(id)?.body))).toEqual(new Set([first.body, other.body]));
  });

  it("returns renamed, with the full hash, if another email with its Message-ID has the same eight digits", () => {
    const bodies = new Map<string, string>();
    let pair: readonly string[] = [];
    // Of 300,000 hashes, about ten pairs share their first 32 bits.
    for (let n = 0; pair.length === 0 && n < 300_000; n++) {
      const start = toStorableMail({ ...first, body: `${n}` }, null).contentHash.slice(0, 8);
      const other = bodies.get(start);
      if (other === undefined) bodies.set(start, `${n}`);
      else pair = [other, `${n}`];
    }
    const writer = openWriter();
    const [one = "", two = ""] = pair;
    for (const body of [one, two, first.body]) writer.add({ ...first, body });
    expect(writer.add({ ...first, body: two })).toBe("known");
    const mails = openMailLookup(test.db);
    const ids = test.db.prepare("SELECT message_id FROM messages").pluck().all() as string[];
    expect(new Set(ids.map((id) => mails.get(id)?.body))).toEqual(new Set([one, two, first.body]));
  });

  it("files a renamed email in both folders if another owner has it too", async () => {
    const other = { ...first, body: "Quite another mail.", path: "x/inbox/1.", owner: "x" };
    const third = { ...other, path: "y/inbox/1.", owner: "y" };
    const map = new Map([
      ["x", "x@x.example"],
      ["y", "y@x.example"],
    ]);
    for (const [renamedFirst, firstOfAll] of [
      [other, first],
      [first, other],
    ]) {
      const fresh = openEmpty();
      await importMails(
        fresh.db,
        [renamedFirst, firstOfAll, third].filter((m) => m !== undefined),
        { ownerMap: map },
      );
      const inboxes = fresh.db
        .prepare(
          `SELECT b.address_id FROM mailboxes b JOIN mail_order o USING (position) JOIN mails m ON m.id = o.mail_id
           WHERE m.body = ?`,
        )
        .pluck()
        .all(other.body);
      expect(inboxes).toEqual(expect.arrayContaining([...map.values()].map((address) => addressId(fresh.db, address))));
      fresh.close();
    }
  });
});

describe("the order of the emails read", () => {
  const MAILS = [
    first,
    { ...first, messageId: "<copy@x>", path: "bob/inbox/7.", owner: "bob" },
    // One Message-ID, filed three times.
    ...["cy/inbox/1.", "bob/sent/1.", "bob/inbox/3."].map((path) => {
      return { ...first, messageId: "<filed@x>", body: "Filed.", path, owner: path.split("/")[0] ?? null };
    }),
    // One Message-ID, four different emails, one of them twice.
    ...["one", "two", "three", "four", "two"].map((body, i) => {
      return { ...first, messageId: "<clash@x>", body, path: `cy/clash/${i}.`, owner: "cy" };
    }),
    // The same time, and no time.
    ...Array.from({ length: 5 }, (_, n) => mail({ messageId: `<same${n}@x>`, body: `b${n}` })),
    ...Array.from({ length: 3 }, (_, n) => mail({ messageId: `<none${n}@x>`, body: `n${n}`, date: null })),
  ];

  it("does not affect the stored rows, their order or the fingerprint", async () => {
    const random = seeded(1);
    await importMails(test.db, MAILS);
    const expected = content(test.db);
    expect(expected.emails).toHaveLength(15);
    for (let round = 0; round < 20; round++) {
      const other = openEmpty();
      await importMails(other.db, shuffled(MAILS, random));
      expect(content(other.db)).toEqual(expected);
      other.close();
    }
  });

  it("makes no difference if several imports read the mail", async () => {
    await importMails(test.db, MAILS);
    const parts = openEmpty();
    for (const one of shuffled(MAILS, seeded(2))) await importMails(parts.db, [one]);
    expect(content(parts.db)).toEqual(content(test.db));
    parts.close();
  });

  it("affects the fingerprint only if an email, mailbox or Message-ID differs", async () => {
    const fingerprintOf = async (...changed: Parameters<typeof importMails>[1]) => {
      const other = openEmpty();
      await importMails(other.db, changed);
      const fingerprint = readFingerprint(other.db);
      other.close();
      return fingerprint;
    };
    const prints = await Promise.all([
      fingerprintOf(),
      fingerprintOf(first),
      fingerprintOf({ ...first, body: "x" }),
      fingerprintOf({ ...first, messageId: "<other@x>" }),
      fingerprintOf({ ...first, owner: "bob", path: "bob/inbox/1." }),
      fingerprintOf(first, { ...first, messageId: "<other@x>" }),
    ]);
    expect(prints[0]).toBeNull();
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe("a source format without folders", () => {
  it("does not remove emails from the folder of another format", async () => {
    const filed = { ...first, path: "bob/sent/1.", owner: "bob" };
    await importMails(test.db, [filed, first]);
    const row = "SELECT path, owner_id AS owner FROM messages";
    expect(test.db.prepare(row).get()).toEqual({ path: "bob/sent/1.", owner: 1 });
    const other = openEmpty();
    await importMails(other.db, [first, filed]);
    expect(other.db.prepare(row).get()).toEqual({ path: "bob/sent/1.", owner: 1 });
    other.close();
  });
});
