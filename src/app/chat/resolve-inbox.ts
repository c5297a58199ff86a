import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { openAddressBook } from "../../store/search/address-book.js";
import { largestInboxes } from "../../store/search/mailbox-sizes.js";
import { nearAddresses } from "../../store/search/similar-addresses.js";

const MAX_SUGGESTED = 8;

/** The address in its stored form; throws a UserError that suggests others where no mail is from or to it. */
export function resolveInbox(db: Db, address: string): string {
  const inbox = address.trim().toLowerCase();
  if (openAddressBook(db).idOf(inbox) !== null) return inbox;
  const near = nearAddresses(db, inbox, MAX_SUGGESTED);
  if (near.length > 0) throw unknown(db, address, `The addresses most like it: ${near.join(", ")}.`);
  const frequent = largestInboxes(db, MAX_SUGGESTED);
  if (frequent.length === 0) {
    throw new UserError("corpus_empty", `There is no mail in ${db.name}.`, "Import some first: art-e import SOURCE.");
  }
  const named = frequent.map(({ address: each, mails }) => `${each} (${mails})`).join(", ");
  throw unknown(db, address, `The addresses with most mail: ${named}.`);
}

function unknown(db: Db, address: string, hint: string): UserError {
  return new UserError("inbox_unknown", `No mail in ${db.name} is from or to ${address}.`, hint);
}
