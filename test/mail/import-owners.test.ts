import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mailboxSizes, openMailboxes } from "../../src/mail/mailboxes.js";
import { countRecipients, countSentFolderSenders, listOwners, readOwnerMap } from "../../src/mail/owners.js";
import { UserError } from "../../src/platform/errors.js";
import type { Db } from "../../src/store/open-store.js";
import { importMails, mail, openWithMails } from "./corpus-setup.js";
import { AUTHORED, DEMO, importFolder, importFrom, mailText } from "./import-setup.js";

describe("an owner map", () => {
  const { path, write } = importFolder();
  const mapOf = (text: string) => Object.fromEntries(readOwnerMap(write("owners.tsv", text)));

  it("accepts a header, comments, blank lines and additional columns", () => {
    const wanted = { "doe-j": "jane.doe@example.com", "roe-r": "r.roe@example.com" };
    const lines = ["doe-j\tJane.Doe@Example.com", "roe-r \t r.roe@example.com\t12 mails\tsure"];
    expect(mapOf(lines.join("\n"))).toEqual(wanted);
    expect(mapOf(["folder\taddress", ...lines, ""].join("\r\n"))).toEqual(wanted);
    expect(mapOf(["folder\taddress", "# the board", "", lines[0], "   ", lines[1]].join("\n"))).toEqual(wanted);
  });

  it("preserves the first folder's name if it follows a byte order mark", () => {
    expect(mapOf("\ufeffdoe-j\tjane.doe@example.com\n")).toEqual({ "doe-j": "jane.doe@example.com" });
  });

  it("accepts an empty file", () => {
    expect(mapOf("")).toEqual({});
  });

  it.each([
    ["a folder without an address", "doe-j\tj@x.com\nroe-r\n", 2, "roe-r"],
    ["an invalid address", "doe-j\tj@x.com\n\n# note\nroe-r\tsomeone\n", 4, "roe-r\tsomeone"],
    ["an address without a folder", "folder\taddress\n\tj@x.com\n", 2, "\tj@x.com"],
    ["spaces instead of a tab", "doe-j\tj@x.com\r\nroe-r r@x.com\r\n", 2, "roe-r r@x.com"],
  ])("reports the line of %s", (_, text, line, found) => {
    const file = write("broken.tsv", text);
    const message = `${file}, line ${line}: expected an owner folder, a tab and an address, found "${found}".`;
    expect(() => readOwnerMap(file)).toThrow(
      expect.objectContaining({ code: "owner_map_invalid", exitCode: 2, message }),
    );
  });

  it("reports the name of a missing file", () => {
    expect(() => readOwnerMap(path("none.tsv"))).toThrow(UserError);
    expect(() => readOwnerMap(path("none.tsv"))).toThrow(
      `Cannot read the owner map ${path("none.tsv")}: no such file or directory.`,
    );
  });
});

const sentFrom = (path: string, sender: string, changes = {}) =>
  mail({ path, owner: path.split("/")[0] ?? null, sender, ...changes });

describe("senders in an owner's sent folders", () => {
  it.each(["sent", "sent_items", "_sent_mail", "Sent Items", ".Sent/cur", "old/sent", "my_sent", "sent/2001"])(
    "include %s in the count",
    async (folder) => {
      const { db, close } = await openWithMails(sentFrom(`lee-k/${folder}/1.`, "kim@x.example"));
      expect([...countSentFolderSenders(db).values()]).toEqual([[{ address: "kim@x.example", mails: 1 }]]);
      close();
    },
  );

  it.each(["inbox", "presentations", "consent", "essential/x", "deleted_items"])(
    "exclude %s from the count",
    async (folder) => {
      const { db, close } = await openWithMails(sentFrom(`lee-k/${folder}/1.`, "kim@x.example"));
      expect(countSentFolderSenders(db).size).toBe(0);
      close();
    },
  );

  it("appear by frequency, then address, without missing senders", async () => {
    const { db, close } = await openWithMails(
      sentFrom("sentry-a/sent/1.", "zoe@x.example"),
      sentFrom("sentry-a/sent/2.", "zoe@x.example"),
      sentFrom("sentry-a/sent/3.", "bob@x.example"),
      sentFrom("sentry-a/sent/4.", "amy@x.example"),
      sentFrom("sentry-a/sent/5.", ""),
      sentFrom("sentry-a/inbox/1.", "amy@x.example"),
      sentFrom("lee-k/sent/1.", "kim@x.example"),
    );
    const folders = new Map(listOwners(db).map((owner) => [owner.id, owner.folder]));
    const counts = [...countSentFolderSenders(db)].map(([id, list]) => [
      folders.get(id),
      list.map(({ address, mails }) => `${address} ${mails}`),
    ]);
    expect(Object.fromEntries(counts)).toEqual({
      "sentry-a": ["zoe@x.example 2", "amy@x.example 1", "bob@x.example 1"],
      "lee-k": ["kim@x.example 1"],
    });
    close();
  });
});

describe("recipients of an owner's mail", () => {
  it("appear by frequency over the different emails in the owner's folders", async () => {
    const twice = sentFrom("lee-k/inbox/1.", "bob@x.example", { to: ["kim@x.example"], cc: ["all@x.example"] });
    const { db, close } = await openWithMails(
      twice,
      { ...twice, messageId: "<copy@x>", path: "lee-k/inbox/2." },
      sentFrom("lee-k/inbox/3.", "bob@x.example", { to: ["kim@x.example"] }),
      sentFrom("other-o/inbox/1.", "bob@x.example", { to: ["all@x.example"] }),
    );
    const id = listOwners(db).find(({ folder }) => folder === "lee-k")?.id ?? -1;
    expect([...countRecipients(db, [id])]).toEqual([
      [
        id,
        [
          { address: "kim@x.example", mails: 2 },
          { address: "all@x.example", mails: 1 },
        ],
      ],
    ]);
    expect(countRecipients(db, []).size).toBe(0);
    close();
  });
});

describe("mailboxes", () => {
  it("belong to owners whose address is known, and to addresses that a source names", async () => {
    const { db, close } = await openWithMails(
      sentFrom("lee-k/sent/1.", "kim.lee@x.example"),
      sentFrom("ghost-g/inbox/1.", "", { to: [] }),
      mail({ inbox: "named@x.example" }),
    );
    expect(openMailboxes(db).addresses).toEqual(["kim.lee@x.example", "named@x.example"]);
    expect(openMailboxes(db).has("bob@x.example")).toBe(false);
    expect(listOwners(db).map(({ folder, address, basis }) => [folder, address, basis])).toEqual([
      ["ghost-g", null, null],
      ["lee-k", "kim.lee@x.example", "sent"],
      ["named@x.example", "named@x.example", "source"],
    ]);
    close();
  });
});

/** Mail in a folder: some delivered to the owner, over a mailing list or not, and some of other people. */
const inFolder = (times: number, changes: Parameters<typeof mail>[0]) =>
  Array.from({ length: times }, () => mail({ path: "box/inbox/1", owner: "/home/box", ...changes }));

describe("the address that an owner's mail was delivered to", () => {
  const ME = "me@x.example";
  const LIST = { to: ["list@x.example"], sender: "bob@x.example" };

  it.each([
    ["names the owner of list mail", inFolder(9, { ...LIST, deliveredTo: ME }), [ME, "delivered"]],
    [
      "wins over an address that both sends and receives",
      [
        ...inFolder(6, { ...LIST, deliveredTo: ME }),
        ...inFolder(4, { sender: "bob@x.example", to: ["bob@x.example"] }),
      ],
      [ME, "delivered"],
    ],
    [
      "wins over the sender of the sent mail",
      [...inFolder(3, { deliveredTo: ME }), ...inFolder(3, { path: "box/sent/1", sender: "old@x.example" })],
      [ME, "delivered"],
    ],
    [
      "is the most frequent one",
      [...inFolder(3, { deliveredTo: ME }), ...inFolder(2, { deliveredTo: "alias@x.example" })],
      [ME, "delivered"],
    ],
    [
      "does not count if it is rare",
      [...inFolder(1, { ...LIST, deliveredTo: "archive@x.example" }), ...inFolder(5, LIST)],
      ["list@x.example", "received"],
    ],
  ])("leads to the expected owner, because it %s", async (_, mails, expected) => {
    const { db, close } = await openWithMails(...mails);
    expect(listOwners(db).map(({ address, basis }) => [address, basis])).toEqual([expected]);
    close();
  });

  it("counts each email once, and a later import finds it again", async () => {
    const mails = inFolder(3, { ...LIST, deliveredTo: ME });
    const { db, close } = await openWithMails(...mails);
    await importMails(db, mails);
    await importMails(db, inFolder(1, LIST));
    expect(db.prepare("SELECT address, mails FROM deliveries").all()).toEqual([{ address: ME, mails: 3 }]);
    expect(mailboxSizes(db)).toEqual([{ address: ME, mails: 4, basis: "delivered" }]);
    close();
  });

  it("defines the mailbox of an email outside all folders", async () => {
    const { db, close } = await openWithMails(
      mail({ to: [], deliveredTo: ME }),
      mail({ to: ["list@x.example"], deliveredTo: ME }),
      mail({ to: ["list@x.example"] }),
    );
    expect(mailboxSizes(db)).toEqual([{ address: ME, mails: 2, basis: "delivered" }]);
    close();
  });
});

describe("mailboxes without known owners", () => {
  it("include the addresses with the most mail, and any other address with mail", async () => {
    const { db, close } = await openWithMails(
      mail({ sender: "ann@x.example", to: ["ben@x.example"] }),
      mail({ sender: "ben@x.example", to: ["ann@x.example", "cy@x.example"] }),
    );
    expect(mailboxSizes(db)).toEqual([
      { address: "ann@x.example", mails: 2, basis: null },
      { address: "ben@x.example", mails: 2, basis: null },
      { address: "cy@x.example", mails: 1, basis: null },
    ]);
    const mailboxes = openMailboxes(db);
    expect(mailboxes.addresses).toEqual(["ann@x.example", "ben@x.example", "cy@x.example"]);
    expect(["cy@x.example", "dan@x.example"].map((address) => mailboxes.has(address))).toEqual([true, false]);
    close();
  });
});

describe("finding the owners", () => {
  const { emptyDb, path, write } = importFolder();

  const ownersOf = (db: Db): Record<string, (string | null)[]> =>
    Object.fromEntries(
      (db.prepare("SELECT folder, address, basis FROM owners ORDER BY folder").raw().all() as string[][]).map(
        ([folder, ...found]) => [folder, found],
      ),
    );

  interface Filed {
    readonly folder: string;
    readonly from: string;
    readonly to: string;
    readonly times?: number;
  }

  let sources = 0;

  /** The owners of a mail root, determined only by senders, recipients and folders. */
  async function ownersFrom(mails: readonly Filed[], options: Parameters<typeof importFrom>[2] = {}) {
    const root = `owners-${sources++}`;
    let n = 0;
    for (const { folder, from, to, times = 1 } of mails) {
      for (let i = 0; i < times; i++) {
        const fields = { "Message-ID": `<${++n}@example.com>`, From: from, To: to, Subject: `mail ${n}` };
        write(`${root}/${folder}/${n}.`, mailText(fields));
      }
    }
    const db = emptyDb();
    await importFrom(db, path(root), options);
    return { db, root: path(root), owners: ownersOf(db) };
  }

  const JANE = "jane.doe@example.com";
  const PAT = "pat.smith@example.com";

  describe("the address of a folder's owner", () => {
    it("matches the documentation of the demo mailbox", async () => {
      const page = readFileSync(join(DEMO, "../README.md"), "utf8");
      const listed = [...page.matchAll(/^\| `([a-z-]+)` \| (\S+@\S+) \|/gm)].map(([, folder, address]) => [
        folder,
        address,
      ]);
      expect(listed).toHaveLength(3);
      const db = emptyDb();
      await importFrom(db, DEMO);
      expect(Object.entries(ownersOf(db)).map(([folder, [address]]) => [folder, address])).toEqual(listed);
    });

    it("matches the made-up emails", async () => {
      const db = emptyDb();
      await importFrom(db, AUTHORED);
      expect(ownersOf(db)).toMatchObject({
        "birch-j": ["joan.birch@example.com", "received"],
        "cedar-l": ["leo.cedar@example.com", "sent"],
      });
    });

    it.each(["sent", "sent_items", "_sent_mail", "Sent Items"])(
      "comes from the sender in the folder %s",
      async (sent) => {
        const mails = [
          { folder: `doe-j/${sent}`, from: JANE, to: PAT },
          { folder: "doe-j/inbox", from: PAT, to: JANE, times: 5 },
        ];
        expect((await ownersFrom(mails)).owners).toEqual({ "doe-j": [JANE, "sent"] });
      },
    );

    it("belongs to the person in the folder's name, even if an assistant sends more emails from the sent folder", async () => {
      const mails = [
        { folder: "doe-j/sent", from: PAT, to: "x@example.com", times: 30 },
        { folder: "doe-j/sent", from: JANE, to: "x@example.com" },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "doe-j": [JANE, "sent"] });
    });

    it("comes from the recipients if only an assistant sends", async () => {
      const mails = [
        { folder: "doe-j/sent", from: PAT, to: "x@example.com", times: 3 },
        { folder: "doe-j/inbox", from: "x@example.com", to: `${PAT}, ${JANE}` },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "doe-j": [JANE, "received"] });
    });

    it("comes from the recipient that matches the folder's name if there is no sent mail, even if a list gets more mail", async () => {
      const mails = [
        { folder: "doe-j/inbox", from: PAT, to: "all.staff@example.com", times: 9 },
        { folder: "doe-j/inbox", from: PAT, to: `${JANE}, all.staff@example.com` },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "doe-j": [JANE, "received"] });
    });

    it("matches even if the folder's name has a typo at its end", async () => {
      const mails = [{ folder: "crandell-s/inbox", from: PAT, to: "x@example.com, sean.crandall@example.com" }];
      expect((await ownersFrom(mails)).owners).toEqual({ "crandell-s": ["sean.crandall@example.com", "received"] });
    });

    it("belongs to the right person if two people have the same last name", async () => {
      const mails = [
        { folder: "doe-j/inbox", from: PAT, to: "martin.doe@example.com", times: 5 },
        { folder: "doe-j/inbox", from: PAT, to: JANE },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "doe-j": [JANE, "received"] });
    });

    it("both sends and receives, even if a mailing list gets more mail", async () => {
      const mails = [
        { folder: "2001/5", from: PAT, to: JANE, times: 3 },
        { folder: "2001/5", from: JANE, to: "x@example.com", times: 2 },
        { folder: "2001/5", from: PAT, to: "all.staff@example.com", times: 9 },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "2001": [JANE, "both"] });
    });

    it("comes from the most frequent recipient if a colleague sends much and receives little", async () => {
      const mails = [
        { folder: "2001/5", from: PAT, to: JANE, times: 9 },
        { folder: "2001/5", from: "x@example.com", to: PAT },
      ];
      expect((await ownersFrom(mails)).owners).toEqual({ "2001": [JANE, "received"] });
    });

    it("stays unknown if it cannot be derived from the mail", async () => {
      const { db, owners } = await ownersFrom([{ folder: "doe-j/inbox", from: "", to: "" }]);
      expect(owners).toEqual({ "doe-j": [null, null] });
      expect((await importFrom(db, AUTHORED)).summary.unresolvedOwners).toBe(1);
    });

    it("appears if a later source contains it", async () => {
      const { db } = await ownersFrom([{ folder: "doe-j/inbox", from: PAT, to: "all.staff@example.com" }]);
      write("later/doe-j/sent/1.", mailText({ "Message-ID": "<later@x>", From: JANE, To: PAT }));
      await importFrom(db, path("later"));
      expect(ownersOf(db)["doe-j"]).toEqual([JANE, "sent"]);
    });
  });

  describe("an owner map", () => {
    const mails = [
      { folder: "doe-j/sent", from: JANE, to: PAT, times: 3 },
      { folder: "roe-r/sent", from: "r.roe@example.com", to: PAT },
    ];
    const ownerMap = new Map([
      ["doe-j", "j.doe@elsewhere.example"],
      ["nobody-n", "n@example.com"],
    ]);

    it("overrides addresses found in the mail, but only for existing folders", async () => {
      expect((await ownersFrom(mails, { ownerMap })).owners).toEqual({
        "doe-j": ["j.doe@elsewhere.example", "map"],
        "roe-r": ["r.roe@example.com", "sent"],
      });
    });

    it("applies to later imports that have no map, until a newer map replaces it", async () => {
      const { db, root } = await ownersFrom(mails, { ownerMap });
      await importFrom(db, root);
      expect(ownersOf(db)["doe-j"]).toEqual(["j.doe@elsewhere.example", "map"]);
      await importFrom(db, root, { ownerMap: new Map([["doe-j", JANE]]) });
      expect(ownersOf(db)["doe-j"]).toEqual([JANE, "map"]);
    });

    it("changes the mailboxes and the fingerprint even if all mail was already imported", async () => {
      const { db, root } = await ownersFrom(mails);
      const fingerprint = () => db.prepare("SELECT fingerprint FROM corpus_state").pluck().get();
      const before = fingerprint();
      const { summary } = await importFrom(db, root, { ownerMap });
      expect(summary).toMatchObject({ stored: 0, duplicates: 4 });
      expect(fingerprint()).not.toBe(before);
      const inboxes = db.prepare("SELECT DISTINCT inbox FROM emails ORDER BY 1").pluck().all();
      expect(inboxes).toEqual(["j.doe@elsewhere.example", "r.roe@example.com"]);
    });
  });
});
