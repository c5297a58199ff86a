// The imported mail as a whole: statistics, and the fingerprint that runs record.
import { createHash } from "node:crypto";
import type { Db } from "../store/open-store.js";
import { openMailboxes } from "./mailboxes.js";

export interface CorpusStats {
  /** Number of Message-IDs, equal to `SELECT COUNT(*) FROM emails`. */
  readonly messages: number;
  /** Number of emails, not counting copies. */
  readonly distinct: number;
  /** Number of mailboxes: the addresses of the owners, or the listed ones if no owner is known. */
  readonly inboxes: number;
  /** Number of owner folders without a known address. */
  readonly unresolvedOwners: number;
  readonly addresses: number;
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  /** Equal for the same mail in the same mailboxes, regardless of the source format. Null if there is no mail. */
  readonly fingerprint: string | null;
}

/** Returns `art` if all mail passed ART's filter, or null if nothing was imported. */
export function readImportFilter(db: Db): "none" | "art" | null {
  const filters = db.prepare("SELECT DISTINCT filter FROM imports").pluck().all() as string[];
  if (filters.length === 0) return null;
  return filters.every((filter) => filter === "art") ? "art" : "none";
}

export function readCorpusStats(db: Db): CorpusStats {
  const one = (sql: string) => db.prepare(sql).pluck().get();
  return {
    messages: one("SELECT count(*) FROM messages") as number,
    distinct: one("SELECT count(*) FROM mails") as number,
    inboxes: openMailboxes(db).addresses.length,
    unresolvedOwners: one("SELECT count(*) FROM owners WHERE address IS NULL") as number,
    addresses: one("SELECT count(*) FROM addresses") as number,
    firstDate: one("SELECT min(date) FROM mail_order") as string | null,
    lastDate: one("SELECT max(date) FROM mail_order") as string | null,
    fingerprint: readFingerprint(db),
  };
}

export function readFingerprint(db: Db): string | null {
  return (db.prepare("SELECT fingerprint FROM corpus_state").pluck().get() as string | undefined) ?? null;
}

/** Computes a SHA-256 hash over every Message-ID in order, with its content and the mailboxes that contain it. */
export function computeFingerprint(db: Db): string {
  const rows = db.prepare(
    `SELECT x.message_id AS id, hex(m.content_hash) AS content,
            (SELECT group_concat(address, ' ') FROM
              (SELECT COALESCE(w.address, w.folder) AS address FROM filings f JOIN owners w ON w.id = f.owner_id
               WHERE f.mail_id = x.mail_id ORDER BY 1)) AS inboxes
     FROM messages x JOIN mails m ON m.id = x.mail_id ORDER BY x.message_id`,
  );
  const hash = createHash("sha256");
  for (const row of rows.iterate() as Iterable<{ id: string; content: string; inboxes: string | null }>) {
    hash.update(`${row.id}\t${row.content}\t${row.inboxes ?? ""}\n`);
  }
  return hash.digest("hex");
}

export function updateFingerprint(db: Db): void {
  db.prepare(
    `INSERT INTO corpus_state (id, fingerprint, updated_at) VALUES (1, ?, ?)
     ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, updated_at = excluded.updated_at`,
  ).run(computeFingerprint(db), new Date().toISOString());
}
