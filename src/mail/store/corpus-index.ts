import type { Db } from "../../store/open-store.js";
import { bigramText } from "../../text/tokenizer.js";
import { FTS_TABLES, PARTY } from "../search-query.js";

/** Mails indexed between two calls of the listener. */
const CHUNK = 5_000;

export type FtsTable = (typeof FTS_TABLES)[number];

/** The tables in which FTS5 stores an index; copied as they are, they are the index. */
export function ftsStorageTables(table: FtsTable): string[] {
  return ["data", "idx", "docsize", "config"].map((name) => `${table}_${name}`);
}

export interface IndexBuilder {
  /** Indexes the mails at these positions, both included, after those indexed before. */
  add(first: number, last: number): void;
  /** Merges what was added; the index is complete then. */
  finish(): void;
}

export type IndexProgress = (done: number, total: number) => void;

/**
 * Rebuilds the mail order and the full-text index, completely each time, so that the rowids of the index are in date
 * order. Runs inside the caller's transaction.
 */
export function rebuildCorpusIndex(db: Db, onProgress: IndexProgress): void {
  rebuildIndex(db, rebuildMailOrder(db), onProgress);
}

/** Rebuilds the index of the mails in order, as one table. */
export function rebuildIndex(db: Db, total: number, onProgress: IndexProgress): void {
  db.exec("UPDATE corpus_state SET older_from = NULL");
  for (const table of FTS_TABLES) ftsCommand(db, table, "delete-all");
  const index = openIndexBuilder(db, "emails_fts", "indexed_mails");
  for (const { first, last } of chunksOf(1, total)) {
    index.add(first, last);
    onProgress(last, total);
  }
  index.finish();
}

/** Consecutive ranges of positions from `first` to `last`, both included. */
export function* chunksOf(first: number, last: number): Generator<{ readonly first: number; readonly last: number }> {
  for (let from = first; from <= last; from += CHUNK) yield { first: from, last: Math.min(from + CHUNK - 1, last) };
}

/** Builds an empty index from `mails`, a view that holds every position. */
export function openIndexBuilder(db: Db, table: FtsTable, mails: string): IndexBuilder {
  // One pass over sorted rows: large batches in memory, one merge at the end.
  ftsCommand(db, table, "hashsize", 16 * 1024 * 1024);
  ftsCommand(db, table, "automerge", 0);
  ftsCommand(db, table, "crisismerge", 1999);
  const add = db.prepare(
    `INSERT INTO ${table} (rowid, subject, body, parties, bigrams)
     SELECT position, subject, body, parties, bigrams FROM ${mails} WHERE position BETWEEN ? AND ? ORDER BY position`,
  );
  return {
    add(first, last) {
      add.run(first, last);
    },
    finish: () => ftsCommand(db, table, "optimize"),
  };
}

/** Rebuilds the character bigrams of all mail; an import adds those of new mail. */
export function rebuildBigrams(db: Db): void {
  db.exec("DELETE FROM mail_bigrams");
  const last = db.prepare("SELECT coalesce(max(id), 0) FROM mails").pluck().get() as number;
  const read = db.prepare("SELECT id, subject, body FROM mails WHERE id BETWEEN ? AND ?").raw();
  const add = db.prepare("INSERT INTO mail_bigrams (mail_id, bigrams) VALUES (?, ?)");
  for (let first = 1; first <= last; first += CHUNK) {
    for (const [id, subject, body] of read.all(first, first + CHUNK - 1) as [number, string, string][]) {
      const bigrams = bigramText(subject, body);
      if (bigrams !== null) add.run(id, bigrams);
    }
  }
}

/** Sends a special command to FTS5. BigInt, as it accepts integers only and a JS number is bound as REAL. */
function ftsCommand(db: Db, table: FtsTable, name: string, value?: number): void {
  if (value === undefined) db.prepare(`INSERT INTO ${table} (${table}) VALUES (?)`).run(name);
  else db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES (?, ?)`).run(name, BigInt(value));
}

/**
 * Replaces the rows of tables with those of another file, as they are at one moment: SQLite reads all tables in one
 * transaction. Runs outside of a transaction, and blocks the thread: 4 s of processor time for each GB.
 */
export function copyTables(db: Db, from: string, tables: readonly string[]): void {
  // SQLite protects the tables of its index from writes.
  db.unsafeMode(true);
  try {
    db.prepare("ATTACH ? AS source").run(from);
    db.transaction(() => {
      for (const table of tables) {
        db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM source.${table}`);
      }
    })();
    db.exec("DETACH source");
  } finally {
    db.unsafeMode(false);
  }
}

type MailRow = readonly [id: number, sender: string, recipients: string, date: string | null];

/**
 * Rebuilds the mail order: by date, newest first, with the parties of each mail. Runs inside the caller's transaction.
 * Returns the number of mails.
 */
export function rebuildMailOrder(db: Db): number {
  db.exec("DELETE FROM mail_order");
  const addressId = openAddressIds(db);
  const ownerIds = readFilings(db, addressId);
  const mails = db
    .prepare("SELECT id, sender, recipients, date FROM mails ORDER BY date IS NULL, date DESC, content_hash DESC")
    .raw();
  const add = db.prepare("INSERT INTO mail_order (position, mail_id, date, parties) VALUES (?, ?, ?, ?)");
  // better-sqlite3 runs no other statement during an iteration, so all rows are read first.
  const order = mails.all() as MailRow[];
  order.forEach(([id, sender, recipients, date], i) => {
    const senders = sender === "" ? [] : [addressId(sender)];
    const addressed = (JSON.parse(recipients) as string[]).map(addressId);
    add.run(i + 1, id, date, partiesText(senders, addressed, ownerIds.get(id) ?? []));
  });
  return order.length;
}

function partiesText(senders: readonly number[], recipients: readonly number[], owners: readonly number[]): string {
  const inboxes = new Set(senders);
  for (const id of recipients) inboxes.add(id);
  for (const id of owners) inboxes.add(id);
  let text = "";
  for (const id of inboxes) text += `${PARTY.in(id)} `;
  for (const id of senders) text += `${PARTY.from(id)} `;
  for (const id of recipients) text += `${PARTY.to(id)} `;
  return text.trimEnd();
}

function openAddressIds(db: Db): (address: string) => number {
  const rows = db.prepare("SELECT address, id FROM addresses").all() as { address: string; id: number }[];
  const ids = new Map(rows.map((row) => [row.address, row.id]));
  const add = db.prepare("INSERT INTO addresses (address) VALUES (?)");
  return (address) => {
    let id = ids.get(address);
    if (id === undefined) {
      id = add.run(address).lastInsertRowid as number;
      ids.set(address, id);
    }
    return id;
  };
}

/** Address ids of the owners who filed each mail; owners without an address have no mailbox to search. */
function readFilings(db: Db, addressId: (address: string) => number): Map<number, number[]> {
  const rows = db
    .prepare(
      `SELECT f.mail_id AS mailId, w.address FROM filings f JOIN owners w ON w.id = f.owner_id
       WHERE w.address IS NOT NULL ORDER BY f.mail_id, w.address`,
    )
    .all() as { mailId: number; address: string }[];
  const filings = new Map<number, number[]>();
  for (const { mailId, address } of rows) {
    const owners = filings.get(mailId) ?? [];
    owners.push(addressId(address));
    filings.set(mailId, owners);
  }
  return filings;
}
