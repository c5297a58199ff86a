import { UserError } from "../domain/errors.js";
import type { Db } from "../store/open.js";
import { frequentAddresses } from "../store/owners.js";
import { openAddressBook } from "../store/parties.js";

/** The address in its stored form; a UserError that names likely ones where no mail has to do with it. */
export function checkInbox(db: Db, given: string): string {
  const inbox = given.trim().toLowerCase();
  if (openAddressBook(db).idOf(inbox) !== null) return inbox;
  const frequent = frequentAddresses(db, 8);
  if (frequent.length === 0) {
    throw new UserError("corpus_empty", `There is no mail in ${db.name}.`, "Import some first: art-e import SOURCE.");
  }
  throw new UserError(
    "inbox_unknown",
    `No mail in ${db.name} is from or to ${given}.`,
    `The addresses with most mail: ${frequent.map(({ address, mails }) => `${address} (${mails})`).join(", ")}.`,
  );
}
