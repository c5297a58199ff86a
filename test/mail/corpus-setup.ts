import { readFingerprint } from "../../src/mail/corpus.js";
import type { CorpusBatch, CorpusSource, FiledEmail } from "../../src/mail/email.js";
import { FTS_TABLES } from "../../src/mail/import/corpus-index.js";
import type { Db } from "../../src/store/open-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { type Imported, type ImportOptions, importFrom } from "./import-setup.js";

/** Small corpora written in a test, imported by the program's own import. */

let made = 0;

/** An email with these fields and otherwise unique ones. */
export function mail(changes: Partial<FiledEmail> = {}): FiledEmail {
  const n = ++made;
  return {
    messageId: `<${n}@test>`,
    subject: `Subject ${n}`,
    sender: "ann@x.example",
    to: ["bob@x.example"],
    cc: [],
    bcc: [],
    date: "2001-05-14T12:00:00Z",
    body: `Body ${n}`,
    path: "",
    owner: null,
    inbox: null,
    form: "maildir",
    ...changes,
  };
}

/** A source with these emails. */
function sourceOf(mails: readonly FiledEmail[]): CorpusSource {
  async function* batches(signal: AbortSignal): AsyncGenerator<CorpusBatch> {
    signal.throwIfAborted();
    yield { mails, bad: [], bytesRead: 0 };
  }
  return { format: "maildir", totalBytes: null, batches };
}

export function importMails(db: Db, mails: readonly FiledEmail[], options?: ImportOptions): Promise<Imported> {
  return importFrom(db, sourceOf(mails), options);
}

/** A fresh database with these emails. */
export async function openWithMails(...mails: FiledEmail[]): Promise<TestDb> {
  const test = openEmpty();
  await importMails(test.db, mails);
  return test;
}

/** The part of the stored mail that does not depend on the order of reading: everything a user can see. */
export function content(db: Db) {
  return {
    fingerprint: readFingerprint(db),
    emails: db
      .prepare("SELECT message_id, inbox, subject, sender, recipients, date, body FROM emails ORDER BY message_id")
      .all(),
    order: db
      .prepare(
        `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = o.mail_id) AS id
         FROM mail_order o ORDER BY position`,
      )
      .pluck()
      .all(),
    threads: db
      .prepare(
        `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = t.mail_id) AS id,
                (SELECT min(message_id) FROM messages WHERE mail_id = t.thread_id) AS first
         FROM mail_threads t ORDER BY id`,
      )
      .all(),
  };
}

/** FTS5's own check of the index against the text of the emails. Throws if they differ. */
export function checkIndex(db: Db): void {
  for (const table of FTS_TABLES) {
    // mail_words stores no text that could be compared.
    const rank = BigInt(table === "emails_fts" ? 1 : 0);
    db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('integrity-check', ?)`).run(rank);
  }
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
