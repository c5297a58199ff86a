import type { Db } from "../connection/open-store.js";

/** How an owner folder's address was found. */
export type OwnerBasis = "map" | "source" | "sent" | "received";

export interface Owner {
  readonly id: number;
  readonly folder: string;
  readonly address: string | null;
  readonly basis: OwnerBasis | null;
}

export interface AddressCount {
  readonly address: string;
  readonly mails: number;
}

export function listOwners(db: Db): Owner[] {
  return db.prepare("SELECT id, folder, address, basis FROM owners ORDER BY folder").all() as Owner[];
}

/** Addresses of imported mailboxes: of an owner folder, or named by the source. */
export function listImportedInboxes(db: Db): Set<string> {
  const rows = db.prepare("SELECT DISTINCT address FROM owners WHERE address IS NOT NULL").pluck().all() as string[];
  return new Set(rows);
}

export function setOwnerAddress(db: Db, id: number, address: string | null, basis: OwnerBasis | null): void {
  db.prepare("UPDATE owners SET address = ?, basis = ? WHERE id = ?").run(address, basis, id);
}

/**
 * Senders in each owner's sent folders (`sent`, `sent_items`, `_sent_mail`, `.Sent`; not `presentations`), most
 * first.
 */
export function countSentFolderSenders(db: Db): Map<number, AddressCount[]> {
  return group(
    db
      .prepare(
        `SELECT x.owner_id AS ownerId, m.sender AS address, count(*) AS mails
         FROM messages x JOIN mails m ON m.id = x.mail_id
         WHERE x.owner_id IS NOT NULL AND m.sender <> ''
           AND (lower(x.path) GLOB '*/sent*/*' OR lower(x.path) GLOB '*/*[^a-z]sent*/*')
         GROUP BY x.owner_id, m.sender ORDER BY mails DESC, address`,
      )
      .all() as OwnerCount[],
  );
}

/** Recipients of the mail in each owner's folders, most first. */
export function countRecipients(db: Db, ownerIds: readonly number[]): Map<number, AddressCount[]> {
  const statement = db.prepare(
    `SELECT f.owner_id AS ownerId, r.value AS address, count(*) AS mails
     FROM filings f JOIN mails m ON m.id = f.mail_id, json_each(m.recipients) r
     WHERE f.owner_id = ? GROUP BY r.value ORDER BY mails DESC, address LIMIT 200`,
  );
  return group(ownerIds.flatMap((id) => statement.all(id) as OwnerCount[]));
}

interface OwnerCount extends AddressCount {
  ownerId: number;
}

function group(rows: readonly OwnerCount[]): Map<number, AddressCount[]> {
  const counts = new Map<number, AddressCount[]>();
  for (const { ownerId, address, mails } of rows) {
    const list = counts.get(ownerId) ?? [];
    list.push({ address, mails });
    counts.set(ownerId, list);
  }
  return counts;
}
