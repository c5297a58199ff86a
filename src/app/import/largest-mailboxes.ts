import type { Db } from "../../store/connection/open-store.js";
import { type AddressCount, listImportedInboxes } from "../../store/import/owners.js";
import { openAddressBook } from "../../store/search/address-book.js";
import { largestInboxes, openMailCount } from "../../store/search/mailbox-sizes.js";

/**
 * The mailboxes with most mail first: those that were imported as such, else (of an mbox) those of the addresses
 * that most mail is from or to.
 */
export function largestMailboxes(db: Db, limit: number): AddressCount[] {
  const imported = listImportedInboxes(db);
  if (imported.size === 0) return largestInboxes(db, limit);
  const addresses = openAddressBook(db);
  const countMails = openMailCount(db);
  return [...imported]
    .map((address) => {
      const id = addresses.idOf(address);
      return { address, mails: id === null ? 0 : countMails(id) };
    })
    .sort((a, b) => b.mails - a.mails || (a.address < b.address ? -1 : 1))
    .slice(0, limit);
}
