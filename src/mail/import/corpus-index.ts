// Builds the indexes of the mail after an import: date order, mailboxes, full text, character pairs and threads.
import type { Db } from "../../store/open-store.js";
import { nameText } from "../../text/searchable-names.js";
import { bigramText } from "../../text/tokenizer.js";
import { assignThreads } from "../threads/assign-threads.js";

/** Number of emails indexed between two progress reports. */
const CHUNK = 5_000;

/** The full-text index of the mail, and the index of display names and character pairs. */
export const FTS_TABLES = ["emails_fts", "mail_words"] as const;

type FtsTable = (typeof FTS_TABLES)[number];

type IndexProgress = (done: number, total: number) => void;

type MailRow = readonly [
  id: number,
  sender: string,
  recipients: string,
  date: string | null,
  bytes: number,
  subject: string,
];

interface MailboxRows {
  readonly positions: number[];
  readonly roles: number[];
}

/** Returns the tables that FTS5 uses to store an index. Copying them copies the index. */
export function ftsStorageTables(table: FtsTable): string[] {
  return ["data", "idx", "docsize", "config"].map((name) => `${table}_${name}`);
}

/**
 * Rebuilds the mail order, the mailboxes and the full-text index from scratch, so that the index's rowids are in date
 * order. Runs inside the caller's transaction.
 */
export function rebuildCorpusIndex(db: Db, onProgress: IndexProgress): void {
  for (const table of FTS_TABLES) prepareForBulkLoad(db, table);
  const { total, mailboxes, threads } = rebuildMailOrder(db);
  const add = db.prepare(
    `INSERT INTO emails_fts (rowid, subject, body)
     SELECT position, subject, body FROM indexed_mails WHERE position BETWEEN ? AND ? ORDER BY position`,
  );
  for (let first = 1; first <= total; first += CHUNK) {
    const last = Math.min(first + CHUNK - 1, total);
    add.run(first, last);
    onProgress(last, total);
  }
  for (const table of FTS_TABLES) ftsCommand(db, table, "optimize");
  // This is done last, so that it fills the pages that the merge has freed: 26 MB in a 1 GB file.
  storeMailboxes(db, mailboxes);
  storeThreads(db, threads);
}

/** Empties an index. Large in-memory batches and a single final merge are best for a single pass over sorted rows. */
function prepareForBulkLoad(db: Db, table: FtsTable): void {
  ftsCommand(db, table, "delete-all");
  ftsCommand(db, table, "hashsize", 16 * 1024 * 1024);
  ftsCommand(db, table, "automerge", 0);
  ftsCommand(db, table, "crisismerge", 1999);
}

/** Rebuilds the character bigrams of all mail. An import adds only the bigrams of new mail. */
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

/**
 * Sends a special command to FTS5. Values are BigInt, because FTS5 accepts only integers and a JS number is bound as
 * REAL.
 */
function ftsCommand(db: Db, table: FtsTable, name: string, value?: number): void {
  if (value === undefined) db.prepare(`INSERT INTO ${table} (${table}) VALUES (?)`).run(name);
  else db.prepare(`INSERT INTO ${table} (${table}, rank) VALUES (?, ?)`).run(name, BigInt(value));
}

/**
 * Replaces the rows of tables with a consistent snapshot of another file's rows: SQLite reads all tables in one
 * transaction. Must run outside a transaction. Blocks the thread for 4 s of CPU time per GB.
 */
export function copyTables(db: Db, from: string, tables: readonly string[]): void {
  // SQLite protects the index tables from direct writes.
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

/** Bits for an address's role on an email in its mailbox. 0 means that the owner only filed the email. */
const IS_SENDER = 1;
const IS_RECIPIENT = 2;

/** What is stored after the full-text index. */
interface OrderedMail {
  readonly total: number;
  readonly mailboxes: ReadonlyMap<number, MailboxRows>;
  readonly threads: ReadonlyMap<number, number>;
}

/** Rebuilds the mail order (newest first), `mail_columns` and `mail_words`. */
function rebuildMailOrder(db: Db): OrderedMail {
  db.exec("DELETE FROM mail_order; DELETE FROM mail_columns; DELETE FROM mailboxes; DELETE FROM mail_threads");
  const addressId = openAddressIds(db);
  const ownerIds = readFilings(db, addressId);
  const bigrams = new Map(db.prepare("SELECT mail_id, bigrams FROM mail_bigrams").raw().all() as [number, string][]);
  const names = new Map(db.prepare("SELECT mail_id, names FROM mail_names").raw().all() as [number, string][]);
  const mails = db
    .prepare(
      `SELECT id, sender, recipients, date, octet_length(subject) + octet_length(body), subject
       FROM mails ORDER BY date IS NULL, date DESC, content_hash DESC`,
    )
    .raw();
  const add = db.prepare("INSERT INTO mail_order (position, mail_id, date) VALUES (?, ?, ?)");
  const addWords = db.prepare("INSERT INTO mail_words (rowid, names, bigrams) VALUES (CAST(? AS INTEGER), ?, ?)");
  const mailboxes = new Map<number, MailboxRows>();
  // better-sqlite3 cannot run other statements during an iteration, so all rows are read first.
  const order = mails.all() as MailRow[];
  const sentAt = new Float64Array(order.length);
  const lengths = new Uint32Array(order.length);
  order.forEach(([id, sender, recipients, date, bytes], i) => {
    const position = i + 1;
    const addresses = JSON.parse(recipients) as string[];
    add.run(position, id, date);
    sentAt[i] = date === null ? Number.NaN : Date.parse(date) / 1_000;
    lengths[i] = bytes;
    const displayNames = JSON.parse(names.get(id) ?? "[]") as string[];
    addWords.run(position, nameText(sender, addresses, displayNames), bigrams.get(id) ?? null);
    const roles = new Map((ownerIds.get(id) ?? []).map((owner) => [owner, 0]));
    if (sender !== "") addRole(roles, addressId(sender), IS_SENDER);
    for (const address of addresses) addRole(roles, addressId(address), IS_RECIPIENT);
    for (const [address, role] of roles) {
      const rows = mailboxes.get(address) ?? { positions: [], roles: [] };
      mailboxes.set(address, rows);
      rows.positions.push(position);
      rows.roles.push(role);
    }
  });
  const asBlob = ({ buffer }: Float64Array | Uint32Array) => Buffer.from(buffer as ArrayBuffer);
  db.prepare("INSERT INTO mail_columns (id, sent_at, bytes) VALUES (1, ?, ?)").run(asBlob(sentAt), asBlob(lengths));
  return { total: order.length, mailboxes, threads: readThreads(db, order) };
}

function addRole(roles: Map<number, number>, address: number, role: number): void {
  roles.set(address, (roles.get(address) ?? 0) | role);
}

function storeMailboxes(db: Db, mailboxes: ReadonlyMap<number, MailboxRows>): void {
  const insert = (rows: number) =>
    db.prepare(
      `INSERT INTO mailboxes (address_id, position, is_sender, is_recipient)
       VALUES ${Array(rows).fill("(?, ?, ?, ?)").join(", ")}`,
    );
  const addBatch = insert(MAILBOX_ROWS_PER_INSERT);
  let values: number[] = [];
  // Insert in primary key order, so that each row is appended.
  for (const address of [...mailboxes.keys()].sort((a, b) => a - b)) {
    const { positions, roles } = mailboxes.get(address) as MailboxRows;
    positions.forEach((position, i) => {
      const role = roles[i] as number;
      values.push(address, position, role & IS_SENDER ? 1 : 0, role & IS_RECIPIENT ? 1 : 0);
      if (values.length < 4 * MAILBOX_ROWS_PER_INSERT) return;
      addBatch.run(values);
      values = [];
    });
  }
  if (values.length > 0) insert(values.length / 4).run(values);
}

/** Takes half the time of single rows. */
const MAILBOX_ROWS_PER_INSERT = 64;

/** Returns the id of the oldest email in the thread of each email, for threads of two or more. */
function readThreads(db: Db, order: readonly MailRow[]): ReadonlyMap<number, number> {
  // The oldest emails first, those without a date last.
  const undated = order.filter(([, , , date]) => date === null).length;
  const oldestFirst = order.toReversed();
  const mails = [...oldestFirst.slice(undated), ...oldestFirst.slice(0, undated)];
  const references = db.prepare("SELECT mail_id, ids FROM mail_references").raw().all() as [number, string][];
  const mailIds = db
    .prepare(
      `SELECT message_id, mail_id FROM messages
       WHERE message_id IN (SELECT value FROM mail_references, json_each(ids))`,
    )
    .raw()
    .all() as [string, number][];
  const firsts = assignThreads(
    mails.map(([id, sender, recipients, date, , subject]) => ({ id, sender, recipients, date, subject })),
    {
      references: new Map(references.map(([id, ids]) => [id, JSON.parse(ids) as string[]])),
      mailIds: new Map(mailIds),
    },
  );
  const threads = new Map<number, number>();
  firsts.forEach((first, i) => {
    if (first === i) return;
    const threadId = (mails[first] as MailRow)[0];
    threads.set(threadId, threadId);
    threads.set((mails[i] as MailRow)[0], threadId);
  });
  return threads;
}

function storeThreads(db: Db, threads: ReadonlyMap<number, number>): void {
  const add = db.prepare("INSERT INTO mail_threads (mail_id, thread_id) VALUES (?, ?)");
  for (const mailId of [...threads.keys()].sort((a, b) => a - b)) add.run(mailId, threads.get(mailId));
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

/**
 * Returns the address ids of the owners who filed each email. Owners without an address do not have a searchable
 * mailbox.
 */
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
