import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { type AddressCount, frequentAddresses } from "../../store/import/owners.js";
import { openAddressBook } from "../../store/search/address-book.js";
import { nearAddresses } from "../../store/search/near-addresses.js";

const MOST_NAMED = 8;

/** Counting them reads all mail, so a server does it once. */
const frequentIn = new WeakMap<Db, readonly AddressCount[]>();

/** The address in its stored form; a UserError that names likely ones where no mail has to do with it. */
export function resolveInbox(db: Db, given: string): string {
  const inbox = given.trim().toLowerCase();
  if (openAddressBook(db).idOf(inbox) !== null) return inbox;
  const near = nearAddresses(db, inbox, MOST_NAMED);
  if (near.length > 0) throw unknown(db, given, `The addresses most like it: ${near.join(", ")}.`);
  const frequent = frequentIn.get(db) ?? frequentAddresses(db, MOST_NAMED);
  if (frequent.length === 0) {
    throw new UserError("corpus_empty", `There is no mail in ${db.name}.`, "Import some first: art-e import SOURCE.");
  }
  frequentIn.set(db, frequent);
  const named = frequent.map(({ address, mails }) => `${address} (${mails})`).join(", ");
  throw unknown(db, given, `The addresses with most mail: ${named}.`);
}

function unknown(db: Db, given: string, hint: string): UserError {
  return new UserError("inbox_unknown", `No mail in ${db.name} is from or to ${given}.`, hint);
}
