import { createHash } from "node:crypto";
import { readFingerprint } from "../../src/mail/corpus.js";
import type { BadEmail, CorpusBatch, CorpusSource, FiledEmail } from "../../src/mail/email.js";
import { type ImportRequest, type ImportSummary, importCorpus, prepareSource } from "../../src/mail/import.js";
import type { Db } from "../../src/store/open-store.js";
import { never, openEmpty, type TestDb } from "../runs/demo-setup.js";

/** Small corpora written in a test, imported as the program imports any. */

let made = 0;

/** A mail unlike any other but for what the test says of it. */
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
    ...changes,
  };
}

/** A source that holds what a test gives it; `bad` comes with the first batch, `error` after the last mail. */
export function sourceOf(
  mails: readonly FiledEmail[],
  { bad = [], batch = 500, error = null }: { bad?: readonly BadEmail[]; batch?: number; error?: Error | null } = {},
): CorpusSource {
  async function* batches(signal: AbortSignal): AsyncGenerator<CorpusBatch> {
    for (let first = 0; first === 0 || first < mails.length; first += batch) {
      signal.throwIfAborted();
      yield { mails: mails.slice(first, first + batch), bad: first === 0 ? bad : [], bytesRead: first };
    }
    if (error !== null) throw error;
  }
  return { format: "maildir", totalBytes: null, batches };
}

type Wish = Partial<ImportRequest> & {
  readonly onProgress?: Parameters<typeof importCorpus>[2];
  readonly signal?: AbortSignal;
};

export function importFrom(db: Db, source: CorpusSource, wish: Wish = {}): Promise<ImportSummary> {
  const { onProgress = () => undefined, signal = never, ...changes } = wish;
  const request: ImportRequest = {
    sources: [{ name: "a test", source: prepareSource(source, wish.filter ?? "none") }],
    filter: "none",
    limit: 0,
    batchSize: 100,
    ownerMap: new Map(),
    parallelIndex: null,
    strict: false,
    onSkipped: () => undefined,
    ...changes,
  };
  return importCorpus(db, request, onProgress, signal);
}

export function importMails(db: Db, mails: readonly FiledEmail[], wish: Wish = {}): Promise<ImportSummary> {
  return importFrom(db, sourceOf(mails), wish);
}

/** A fresh database with these mails in it. */
export async function openWithMails(...mails: FiledEmail[]): Promise<TestDb> {
  const test = openEmpty();
  await importMails(test.db, mails);
  return test;
}

/** Every table but `imports`, each as a digest of its rows: equal where nothing at all has changed. */
export function dump(db: Db): Record<string, string> {
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('imports') ORDER BY name")
    .pluck()
    .all() as string[];
  return Object.fromEntries(
    tables.map((table) => {
      const rows = db.prepare(`SELECT * FROM "${table}"`).all();
      return [table, createHash("sha256").update(JSON.stringify(rows)).digest("hex")];
    }),
  );
}

/** What of the mail does not depend on the order of reading: all that anyone is shown. */
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
  };
}

/** FTS5's own check of the index against the text of the mails; throws where they differ. */
export function checkIndex(db: Db): void {
  for (const table of ["emails_fts", "emails_fts_older"]) {
    db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('integrity-check', ?)`).run(BigInt(1));
  }
}

export function idOf(db: Db, address: string): number {
  const id = db.prepare("SELECT id FROM addresses WHERE address = ?").pluck().get(address) as number | undefined;
  if (id === undefined) throw new Error(`no address ${address}`);
  return id;
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = items.map((item) => ({ item, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
