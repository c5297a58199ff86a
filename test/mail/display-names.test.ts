import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { openAddressBook } from "../../src/mail/address-book.js";
import { readFingerprint } from "../../src/mail/corpus.js";
import { displayNames } from "../../src/mail/import/display-names.js";
import { openMailSearch } from "../../src/mail/search.js";
import type { Db } from "../../src/store/open-store.js";
import { importFolder, importFrom } from "./import-setup.js";
import { query } from "./small-corpus.js";

const { emptyDb, path } = importFolder();

/** Files in a new folder, read like in an import. */
function maildir(name: string, files: Readonly<Record<string, string>>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(path(`${name}/${file}`)), { recursive: true });
    writeFileSync(path(`${name}/${file}`), text.replaceAll("\n", "\r\n"));
  }
  return path(name);
}

function email(id: string, header: string, body = "See you there."): string {
  return `Message-ID: <${id}@plains.example>\nDate: Mon, 14 May 2001 10:00:00 +0000\n${header}\nSubject: Lunch\n\n${body}\n`;
}

function namesIn(db: Db): string[] {
  return db.prepare("SELECT value FROM mail_names, json_each(names) ORDER BY 1").pluck().all() as string[];
}

function found(db: Db, words: string): string[] {
  const inboxId = openAddressBook(db).idOf("bo@plains.example");
  return openMailSearch(db, [])
    .bestFirst(query(words, { inboxId }))
    .hits.map(({ messageId }) => messageId);
}

const KITCHEN = maildir("kitchen", {
  "kim-b/inbox/1.": email("list", 'From: "Kitchen, Louise" <lk7@plains.example>\nTo: Bo Kim <bo@plains.example>'),
  "kim-b/inbox/2.": email(
    "export",
    "From: jd@plains.example\nTo: bo@plains.example\nX-From: Dasovich, Jeff </O=ENRON/OU=NA/CN=RECIPIENTS/CN=JDASOVIC>\n" +
      "X-To: Kim, Bo </O=ENRON/OU=NA/CN=RECIPIENTS/CN=BKIM>, Tim\n Belden <Tim Belden/HOU/ECT@ECT>\nX-cc: 'pat@plains.example' <pat@plains.example>\nX-bcc: Ann Vole/HOU/ECT@ECT, cat@plains.example",
  ),
  "kim-b/inbox/3.": email(
    "encoded",
    "From: =?utf-8?B?5byg5Lyf?= <zw@plains.example>\nTo: bo@plains.example (Bo Kim)\nCc: =?iso-8859-1?Q?Andr=E9_M=FCller?= <am@plains.example>",
  ),
  "kim-b/inbox/4.": email("none", "From: dan.wolf@plains.example\nTo: bo@plains.example\nX-From: Dan K Wolf"),
});

describe("display names", () => {
  it.each([
    ["Louise Kitchen", ["list"]],
    ["kitchen", ["list"]],
    ["dasovich", ["export"]],
    ["belden", ["export"]],
    ["vole", ["export"]],
    ["张伟", ["encoded"]],
    ["muller", ["encoded"]],
    ["Kim", ["list", "export", "encoded"]],
    ["wolf", ["none"]],
  ])("make a search for %j find the email", async (words, ids) => {
    const db = emptyDb();
    await importFrom(db, KITCHEN);
    expect(found(db, words).sort()).toEqual(ids.map((id) => `<${id}@plains.example>`).sort());
  });

  it("appear as written, except addresses, directory names and names that repeat an address", async () => {
    const db = emptyDb();
    await importFrom(db, KITCHEN);
    expect(namesIn(db)).toEqual(
      [
        "André Müller",
        "Ann Vole",
        "Bo Kim",
        "Bo Kim",
        "Dasovich, Jeff",
        "Kim, Bo",
        "Kitchen, Louise",
        "Tim Belden",
        "张伟",
      ].sort(),
    );
  });

  it("add no words to the index of the text", async () => {
    const db = emptyDb();
    await importFrom(db, KITCHEN);
    const count = (words: string) =>
      db.prepare("SELECT count(*) FROM emails_fts WHERE emails_fts MATCH ?").pluck().get(words);
    expect([count("kitchen"), count("in1"), count("from*"), count("there")]).toEqual([0, 0, 0, 4]);
  });

  it("come from all copies of an email, in any order", async () => {
    const header = "From: lk7@plains.example\nTo: bo@plains.example\nX-From:";
    const first = email("first", `${header} Louise Kitchen`);
    const second = email("second", `${header} Kitchen, Louise </O=ENRON/CN=LKITCHEN>`);
    for (const [name, files] of Object.entries({
      forward: { "kim-b/inbox/1.": first, "kim-b/inbox/2.": second },
      backward: { "kim-b/inbox/1.": second, "kim-b/inbox/2.": first },
    })) {
      const db = emptyDb();
      await importFrom(db, maildir(name, files));
      expect(namesIn(db)).toEqual(["Kitchen, Louise", "Louise Kitchen"]);
    }
  });

  it("extend mail that an import stored without them, and an open search sees them immediately", async () => {
    const db = emptyDb();
    await importFrom(db, KITCHEN);
    db.exec("DELETE FROM mail_names; INSERT INTO mail_words (mail_words) VALUES ('delete-all')");
    const inboxId = openAddressBook(db).idOf("bo@plains.example");
    const search = openMailSearch(db, []);
    const hits = () => search.bestFirst(query("dasovich", { inboxId })).hits.length;
    const fingerprint = readFingerprint(db);
    expect(hits()).toBe(0);
    await importFrom(db, KITCHEN);
    expect(hits()).toBe(1);
    expect(readFingerprint(db)).toBe(fingerprint);
  });
});

describe("displayNames", () => {
  it("returns at most 100 names per email, each of at most 200 characters", () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `Person ${String(i).padStart(4, "0")}${"x".repeat(500)}`);
    const kept = displayNames({ names, addresses: [], lists: [names.join(", ")], senderName: "" }, []);
    expect(kept).toHaveLength(100);
    expect(Math.max(...kept.map(({ length }) => length))).toBe(200);
  });
});
