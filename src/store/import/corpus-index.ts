import type { Db } from "../connection/open-store.js";
import { PARTY } from "../search/address-book.js";
import { bigramText } from "../tokenizer/bigrams.js";

/** Mails indexed between two calls of the listener. */
const CHUNK = 5_000;

interface MailRow {
  id: number;
  sender: string;
  recipients: string;
  date: string | null;
}

/**
 * Rebuilds the mail order (by date, with the parties of each mail) and the full-text index, completely each time, so
 * that the rowids of the index are in date order. Runs inside the caller's transaction.
 */
export function rebuildCorpusIndex(db: Db, onProgress: (done: number, total: number) => void): void {
  const total = rebuildMailOrder(db);
  ftsCommand(db, "delete-all");
  // One pass over sorted rows: large batches in memory, one merge at the end.
  ftsCommand(db, "hashsize", 16 * 1024 * 1024);
  ftsCommand(db, "automerge", 0);
  ftsCommand(db, "crisismerge", 1999);
  const add = db.prepare(
    `INSERT INTO emails_fts (rowid, subject, body, parties, bigrams)
     SELECT position, subject, body, parties, bigrams FROM indexed_mails WHERE position BETWEEN ? AND ? ORDER BY position`,
  );
  for (let first = 1; first <= total; first += CHUNK) {
    add.run(first, Math.min(first + CHUNK - 1, total));
    onProgress(Math.min(first + CHUNK - 1, total), total);
  }
  ftsCommand(db, "optimize");
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
function ftsCommand(db: Db, name: string, value?: number): void {
  if (value === undefined) db.prepare("INSERT INTO emails_fts (emails_fts) VALUES (?)").run(name);
  else db.prepare("INSERT INTO emails_fts (emails_fts, rank) VALUES (?, ?)").run(name, BigInt(value));
}

/** Returns the number of mails. */
function rebuildMailOrder(db: Db): number {
  db.exec("DELETE FROM mail_order");
  const addressId = openAddressIds(db);
  const ownerIds = readFilings(db, addressId);
  const mails = db.prepare(
    "SELECT id, sender, recipients, date FROM mails ORDER BY date IS NULL, date DESC, content_hash DESC",
  );
  const add = db.prepare("INSERT INTO mail_order (position, mail_id, date, parties) VALUES (?, ?, ?, ?)");
  // better-sqlite3 runs no other statement during an iteration, so all rows are read first.
  const order = mails.all() as MailRow[];
  order.forEach((mail, i) => {
    add.run(i + 1, mail.id, mail.date, partiesText(mail, addressId, ownerIds.get(mail.id) ?? []));
  });
  return order.length;
}

function partiesText(mail: MailRow, addressId: (address: string) => number, owners: readonly number[]): string {
  const sender = mail.sender === "" ? [] : [addressId(mail.sender)];
  const recipients = (JSON.parse(mail.recipients) as string[]).map(addressId);
  const inboxes = new Set([...sender, ...recipients, ...owners]);
  return [...[...inboxes].map(PARTY.in), ...sender.map(PARTY.from), ...recipients.map(PARTY.to)].join(" ");
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
