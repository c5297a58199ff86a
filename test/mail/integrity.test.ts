import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkHealth, repairIndex } from "../../src/mail/integrity.js";
import { openDemo, type TestDb } from "../runs/demo-setup.js";
import { content } from "./corpus-setup.js";
import { contentOf } from "./import-setup.js";

let test: TestDb;
beforeEach(async () => {
  test = await openDemo();
});
afterEach(() => test.close());

const ill = () => [...checkHealth(test.db)].filter(({ ok }) => !ok).map(({ check }) => check);

describe("checkMail on a damaged file", () => {
  it.each([
    ["an email that differs from the index", "Full-text index", "UPDATE mails SET subject = 'zebra' WHERE id = 1"],
    ["an index without its emails", "Full-text index", "INSERT INTO emails_fts (emails_fts) VALUES ('delete-all')"],
    ["an email without a Message-ID", "Counts", "DELETE FROM messages WHERE mail_id = 1"],
    ["a missing length of an email", "Counts", "UPDATE mail_columns SET bytes = zeroblob(4)"],
    ["a stray row", "Foreign keys", "PRAGMA foreign_keys = OFF; UPDATE filings SET owner_id = 999 WHERE mail_id = 1"],
    ["a missing table", "Schema", "DROP TABLE feedback"],
    ["a missing view", "Schema", "DROP VIEW emails"],
    ["an index that cannot be queried", "Query plans", "DROP INDEX idx_mail_order_date"],
  ])("reports %s (%s)", (_what, check, damage) => {
    test.db.exec(damage);
    expect(ill()).toEqual([check]);
  });
});

describe("an intact file", () => {
  it("passes every check, and stays unchanged", () => {
    const before = contentOf(test.db);
    expect([...checkHealth(test.db)].map(({ ok }) => ok)).toEqual(Array(6).fill(true));
    expect(contentOf(test.db)).toEqual(before);
  });

  it("passes every check even if it contains no mail", () => {
    test.db.exec(
      "DELETE FROM filings; DELETE FROM mail_names; DELETE FROM mail_bigrams; DELETE FROM mail_threads; DELETE FROM mail_order; DELETE FROM mail_columns; DELETE FROM messages; DELETE FROM mails",
    );
    test.db.exec("INSERT INTO emails_fts (emails_fts) VALUES ('delete-all')");
    expect(ill()).toEqual([]);
  });
});

describe("repair", () => {
  it("rebuilds the order and the index from the emails", () => {
    const before = content(test.db);
    test.db.exec(
      "INSERT INTO emails_fts (emails_fts) VALUES ('delete-all'); DELETE FROM mail_order WHERE position > 9",
    );
    expect(ill()).toEqual(["Full-text index", "Counts"]);
    const heard: number[] = [];
    repairIndex(test.db, (done, total) => heard.push(done, total));
    expect(ill()).toEqual([]);
    expect(content(test.db)).toEqual(before);
    expect(heard.at(-1)).toBe(before.order.length);
  });
});
