// The mailboxes that an agent can be bound to, with their sizes.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";
import { openAddressBook } from "./address-book.js";
import type { AddressCount, OwnerBasis } from "./owners.js";

/**
 * The mailboxes of the imported mail: the addresses of the owners, or, if no owner's address is known (saved emails, an
 * archive), the addresses with the most mail.
 */
export interface Mailboxes {
  readonly addresses: readonly string[];
  /** Without known owners, any address with mail is a mailbox. */
  has(address: string): boolean;
}

export interface MailboxSize extends AddressCount {
  /** How the address was found, or null if no owner is known. */
  readonly basis: OwnerBasis | null;
}

/** Maximum number of listed mailboxes if no owner is known. */
const MAX_FREQUENT = 20;

export function openMailboxes(db: Db): Mailboxes {
  const owned = ownedAddresses(db);
  if (owned.size > 0) return { addresses: [...owned.keys()], has: (address) => owned.has(address) };
  const { idOf } = openAddressBook(db);
  return {
    // Counts the mail of every address, and most callers only ask whether a mailbox is known.
    get addresses() {
      return frequentAddresses(db, MAX_FREQUENT).map(({ address }) => address);
    },
    has: (address) => idOf(address) !== null,
  };
}

/**
 * Returns the mailbox of a database with one mailbox, so that it need not be named.
 * @throws UserError with the mailboxes if there are others or none
 */
export function onlyMailbox(db: Db): string {
  const { addresses } = openMailboxes(db);
  const [address, ...others] = addresses;
  if (address !== undefined && others.length === 0) return address;
  if (address === undefined) throw noMail(db);
  throw new UserError(
    "inbox_missing",
    `MAILBOX is required, because ${db.name} has ${addresses.length} mailboxes.`,
    `Pass one of them: ${addresses.slice(0, MAX_FREQUENT).join(", ")}.`,
  );
}

/** Returns the error for a database without mail. */
export function noMail(db: Db): UserError {
  return new UserError(
    "corpus_empty",
    `${db.name} does not contain any mail.`,
    `Import mail first: ${commandLine`art-e import SOURCE`}`,
  );
}

/** Returns the sizes of all mailboxes, largest first. */
export function mailboxSizes(db: Db): MailboxSize[] {
  const owned = ownedAddresses(db);
  if (owned.size === 0) return frequentAddresses(db, MAX_FREQUENT).map((count) => ({ ...count, basis: null }));
  const addresses = openAddressBook(db);
  const countMails = db.prepare("SELECT count(*) FROM mailboxes WHERE address_id = ?").pluck();
  return [...owned]
    .map(([address, basis]) => ({ address, mails: countMails.get(addresses.idOf(address)) as number, basis }))
    .sort((a, b) => b.mails - a.mails || (a.address < b.address ? -1 : 1));
}

/** Returns the addresses of owner folders, sorted, with their basis. */
function ownedAddresses(db: Db): Map<string, OwnerBasis | null> {
  const rows = db
    .prepare("SELECT address, max(basis) FROM owners WHERE address IS NOT NULL GROUP BY address ORDER BY address")
    .raw()
    .all() as [string, OwnerBasis | null][];
  return new Map(rows);
}

/** Returns the addresses that most mail is from or to. */
export function frequentAddresses(db: Db, limit: number): AddressCount[] {
  return db
    .prepare(
      `SELECT a.address, mails FROM
         (SELECT address_id, count(*) AS mails FROM mailboxes GROUP BY address_id)
         JOIN addresses a ON a.id = address_id
       ORDER BY mails DESC, address LIMIT ?`,
    )
    .all(limit) as AddressCount[];
}
