import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readCorpusStats } from "../../src/mail/corpus.js";
import { checkHealth } from "../../src/mail/integrity.js";
import type { Db } from "../../src/store/open-store.js";
import { ENRON, needs } from "../machine-requirements.js";
import { accountedFor, contentOf, type Imported, importFolder, importFrom } from "./import-setup.js";

const { emptyDb, path } = importFolder();

describe("the real mail", needs("real-mail"), () => {
  const FORMS = ["tar", "maildir", "kaggle-csv", "parquet"] as const;
  const dbs = new Map<string, Db>();
  const imports = new Map<string, Imported>();

  beforeAll(async () => {
    mkdirSync(path("unpacked"));
    execFileSync("tar", ["-xzf", join(ENRON, "maildir.tar.gz"), "-C", path("unpacked")]);
    const sources = ["maildir.tar.gz", path("unpacked"), "emails.csv", "emails.parquet"];
    for (const [i, form] of FORMS.entries()) {
      const db = emptyDb();
      dbs.set(form, db);
      const source = sources[i] ?? "";
      imports.set(form, await importFrom(db, source.startsWith("/") ? source : join(ENRON, source)));
    }
  });

  /** Every message with its readers, as in the fingerprint, email by email. */
  const messagesOf = (db: Db) =>
    new Map(
      (
        db
          .prepare(
            "SELECT message_id, json_array(inbox, subject, sender, recipients, date, body) FROM emails ORDER BY message_id",
          )
          .raw()
          .all() as [string, string][]
      ).map(([id, mail]) => [id, mail]),
    );

  it.each(FORMS)("imports completely from %s", (form) => {
    const { summary } = imports.get(form) as Imported;
    expect(summary).toMatchObject({ format: form, read: 1329, skipped: { mails: 0 }, inboxes: 5, unresolvedOwners: 0 });
    expect(accountedFor(summary)).toBe(1329);
    expect(readCorpusStats(dbs.get(form) as Db).messages).toBe(1329);
  });

  // 895 according to ART's own code on the same rows (82 long bodies, 51 recipient lists, 301 duplicates dropped).
  it.each(["maildir.tar.gz", "emails.csv", "emails.parquet"])(
    "keeps the same emails of %s as ART's filter",
    async (file) => {
      const { summary } = await importFrom(emptyDb(), join(ENRON, file), { filter: "art" });
      expect(summary).toMatchObject({ stored: 895, dropped: { long_body: 82, many_recipients: 51, repeat: 301 } });
    },
  );

  it.each(FORMS)("creates an intact database from %s", (form) => {
    expect([...checkHealth(dbs.get(form) as Db)].filter(({ ok }) => !ok)).toEqual([]);
  });

  it.each(FORMS.slice(1))("does not differ between %s and the archive, email by email", (form) => {
    const [wanted, found] = [messagesOf(dbs.get("tar") as Db), messagesOf(dbs.get(form) as Db)];
    const differing = [...wanted].filter(([id, mail]) => found.get(id) !== mail);
    expect(differing.map(([id, mail]) => [id, mail, found.get(id)])).toEqual([]);
    expect(found.size).toBe(wanted.size);
  });

  it("has the same fingerprint in every source format", () => {
    const stats = FORMS.map((form) => readCorpusStats(dbs.get(form) as Db));
    expect(new Set(stats.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(stats[0]?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each(FORMS)("gains nothing from %s after the import from the archive", async (form) => {
    const db = dbs.get("tar") as Db;
    const before = contentOf(db);
    const again = { tar: "maildir.tar.gz", "kaggle-csv": "emails.csv", parquet: "emails.parquet", maildir: null }[form];
    const { summary } = await importFrom(db, again === null ? path("unpacked") : join(ENRON, again));
    expect(summary).toMatchObject({ stored: 0, renamed: 0, duplicates: 1329 });
    expect(contentOf(db)).toEqual(before);
  });

  it("includes the owner's address for each of the five mailboxes", () => {
    const owners = (dbs.get("tar") as Db).prepare("SELECT folder, address FROM owners ORDER BY folder").raw().all();
    expect(owners).toEqual([
      ["crandell-s", "sean.crandall@enron.com"],
      ["dickson-s", "stacy.dickson@enron.com"],
      ["phanis-s", "stephanie.panus@enron.com"],
      ["slinger-r", "ryan.slinger@enron.com"],
      ["south-s", "steven.south@enron.com"],
    ]);
  });
});
