import type { Db } from "../connection/open-store.js";
import { PARTY } from "../search/address-book.js";

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
