import { createHash } from "node:crypto";
import type { Db } from "../connection/open-store.js";

export interface CorpusStats {
  /** Message-IDs, as `SELECT COUNT(*) FROM emails` counts them. */
  readonly messages: number;
  /** Mails without their copies. */
  readonly distinct: number;
  /** Mailboxes whose owner's address is known. */
  readonly inboxes: number;
  /** Owner folders whose address could not be found. */
  readonly unresolvedOwners: number;
  readonly addresses: number;
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  /** Equal for the same mail in the same mailboxes, whatever format it was imported from. Null: no mail. */
  readonly fingerprint: string | null;
}

/** `art` where all mail came through ART's filter; null where none was imported. */
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
    inboxes: one("SELECT count(DISTINCT address) FROM owners WHERE address IS NOT NULL") as number,
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

/** SHA-256 over every Message-ID in order, the content it stands for and the mailboxes that hold it. */
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

/** Records the first position of the second index; without one the whole index is the first. */
export function setOlderFrom(db: Db, olderFrom: number): void {
  db.prepare("UPDATE corpus_state SET older_from = ?").run(olderFrom);
}
