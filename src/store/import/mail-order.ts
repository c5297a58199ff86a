import type { Db } from "../connection/open-store.js";
import { PARTY } from "../search/address-book.js";

interface MailRow {
  id: number;
  sender: string;
  recipients: string;
  date: string | null;
}

/**
 * Rebuilds the mail order: by date, newest first, with the parties of each mail. Runs inside the caller's transaction.
 * Returns the number of mails.
 */
export function rebuildMailOrder(db: Db): number {
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
