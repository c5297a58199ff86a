import { createHash } from "node:crypto";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";
import { listImportedInboxes } from "./import-owners.js";

/**
 * Refuses questions that could only be answered wrongly here: there is no mail, or the mailbox asked for
 * has not been imported. Nothing has been spent when it throws. `allowPartial`: undefined where there is no flag
 * for it.
 */
export function checkMailboxes(
  db: Db,
  questions: readonly Pick<Question, "inbox_address">[],
  allowPartial?: boolean,
): void {
  if (readCorpusStats(db).messages === 0) {
    throw new UserError(
      "corpus_empty",
      `There is no mail in ${db.name}.`,
      `Import some first: ${commandLine`art-e import SOURCE`} (npm run demo shows it all on bundled mail).`,
    );
  }
  const imported = listImportedInboxes(db);
  const missing = [...new Set(questions.map((q) => q.inbox_address).filter((inbox) => !imported.has(inbox)))];
  if (missing.length === 0 || allowPartial) return;
  const count = questions.filter((q) => !imported.has(q.inbox_address)).length;
  const some = missing.slice(0, 5).join(", ") + (missing.length > 5 ? `, and ${missing.length - 5} more` : "");
  const partial = allowPartial === undefined ? "" : ", or use --partial-inboxes to search what mail of theirs there is";
  const known = [...imported].sort().slice(0, 8).join(", ") || "none";
  throw new UserError(
    "inbox_missing",
    `${count} of ${questions.length} questions ask mailboxes that are not imported: ${some}.`,
    `Import them, choose others with --inbox, or name folder and address in an --owner-map at import${partial}. Imported: ${known}.`,
  );
}

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
