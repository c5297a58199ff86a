import { describe, expect, it } from "vitest";
import {
  countRecipients,
  countSentFolderSenders,
  listImportedInboxes,
  listOwners,
} from "../../src/mail/import-owners.js";
import { mail, openWithMails } from "./corpus-setup.js";

const sentFrom = (path: string, sender: string, changes = {}) =>
  mail({ path, owner: path.split("/")[0] ?? null, sender, ...changes });

describe("who sends from an owner's sent folders", () => {
  it.each(["sent", "sent_items", "_sent_mail", "Sent Items", ".Sent/cur", "old/sent", "my_sent", "sent/2001"])(
    "is counted in %s",
    async (folder) => {
      const { db, close } = await openWithMails(sentFrom(`lee-k/${folder}/1.`, "kim@x.example"));
      expect([...countSentFolderSenders(db).values()]).toEqual([[{ address: "kim@x.example", mails: 1 }]]);
      close();
    },
  );

  it.each(["inbox", "presentations", "consent", "essential/x", "deleted_items"])(
    "is not counted in %s",
    async (folder) => {
      const { db, close } = await openWithMails(sentFrom(`lee-k/${folder}/1.`, "kim@x.example"));
      expect(countSentFolderSenders(db).size).toBe(0);
      close();
    },
  );

  it("is counted for every owner alone, whoever sends most first, then by address; no sender is nobody", async () => {
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

describe("whom an owner's mail is addressed to", () => {
  it("is counted over the different mails of the owner's folders, most first", async () => {
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

describe("the inboxes that were imported", () => {
  it("are those of the owners whose address is known, and of the addresses that a source names", async () => {
    const { db, close } = await openWithMails(
      sentFrom("lee-k/sent/1.", "kim.lee@x.example"),
      sentFrom("ghost-g/inbox/1.", "", { to: [] }),
      mail({ inbox: "named@x.example" }),
    );
    expect(listImportedInboxes(db)).toEqual(new Set(["kim.lee@x.example", "named@x.example"]));
    expect(listOwners(db).map(({ folder, address, basis }) => [folder, address, basis])).toEqual([
      ["ghost-g", null, null],
      ["lee-k", "kim.lee@x.example", "sent"],
      ["named@x.example", "named@x.example", "source"],
    ]);
    close();
  });
});
