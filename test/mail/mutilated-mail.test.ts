import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkHealth } from "../../src/mail/health.js";
import { openMailLookup } from "../../src/mail/mailbox.js";
import { accountedFor, contentOf, importFolder, importFrom } from "./import-setup.js";
import { mutilatedMails } from "./mutilate.js";

const { emptyDb, path } = importFolder();

const MAILS = mutilatedMails(200, 2001);

describe("200 mutilated mails", () => {
  const folder = path("maildir/doe-j/inbox");
  mkdirSync(folder, { recursive: true });
  for (const [n, { raw }] of MAILS.entries()) writeFileSync(`${folder}/${n}.`, raw);

  it("are imported or named with a reason, each of them", async () => {
    const db = emptyDb();
    const { summary, skipped } = await importFrom(db, path("maildir"));
    expect(summary.read).toBe(200);
    expect(accountedFor(summary)).toBe(200);
    expect(skipped).toHaveLength(summary.skipped.mails);
    // Some are beyond reading, but most are not.
    expect(summary.skipped.mails).toBeGreaterThan(0);
    expect(summary.stored).toBeGreaterThan(150);
    const inFile = db.prepare("SELECT path FROM messages").pluck().all() as string[];
    const named = skipped.map(({ where }) => where.slice(where.indexOf("doe-j/")));
    expect(new Set([...inFile, ...named]).size).toBe(summary.stored + summary.skipped.mails);
    for (const { reason } of skipped) expect(reason).toMatch(/^it (is empty|is binary data|has no mail header)/);
  });

  it("can each be read by its id afterwards, and the file is sound", async () => {
    const db = emptyDb();
    await importFrom(db, path("maildir"));
    const mails = openMailLookup(db);
    const ids = db.prepare("SELECT message_id FROM emails").pluck().all() as string[];
    for (const id of ids) {
      const mail = mails.get(id);
      expect(mail?.messageId, id).toBe(id);
      expect(JSON.stringify(mail), id).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }
    expect([...checkHealth(db)].filter(({ ok }) => !ok)).toEqual([]);
  });

  it("imported again change nothing", async () => {
    const db = emptyDb();
    await importFrom(db, path("maildir"));
    const before = contentOf(db);
    const { summary } = await importFrom(db, path("maildir"));
    expect(summary.stored).toBe(0);
    expect(contentOf(db)).toEqual(before);
  });
});
